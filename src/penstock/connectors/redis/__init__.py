"""Streams of Redis as sources and sinks.

``connecting.py``  connections: how they are made, what messages call them, what their errors mean
``source.py``      a stream as a source
``sink.py``        a stream as a sink that has each entry once
"""
