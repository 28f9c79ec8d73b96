"""Parquet files as sources and sinks.

``source.py``  Parquet files as sources
``sink.py``    folders of Parquet files as sinks
``folder.py``  a folder of Parquet files that has each row once, over kills and restarts of a
               checkpoint
``rows.py``    elements as Arrow batches with one schema, gathered until they make a row group
"""
