"""Parquet files as sources and sinks.

``source.py``           Parquet files as sources
``files.py``            the rows of Parquet files one after the other, and how to tell that a file
                        is still the same
``sink.py``             a folder of Parquet files as a sink that has each row once, over kills and
                        restarts
``unfinished_file.py``  a file that appears when it is complete
"""
