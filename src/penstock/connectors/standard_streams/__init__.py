"""Standard input as a source and standard output as a sink.

``standard_input.py``   standard input as a source
``standard_output.py``  standard output as a sink
"""
