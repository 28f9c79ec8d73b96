"""Tables of Delta Lake as sources and sinks, without Spark.

``source.py``    tables of Delta Lake as sources
``versions.py``  the rows of a Delta table: those of one version, and then those that each later one
                 has added
``sink.py``      tables of Delta Lake as sinks
``table.py``     a Delta table that has each row once, over kills and restarts of a checkpoint
``place.py``     where a Delta table is, and how an error there is told
"""
