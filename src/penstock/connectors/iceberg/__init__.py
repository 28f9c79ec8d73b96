"""Tables of Apache Iceberg as sources and sinks, without Spark.

``source.py``     tables of Iceberg as sources
``snapshots.py``  the rows of an Iceberg table: those of one snapshot, then those that each later
                  one has added
``sink.py``       tables of Iceberg as sinks
``table.py``      an Iceberg table that has each row once, over kills and restarts of a checkpoint
``types.py``      the types that Iceberg has, as Arrow knows them
``catalog.py``    where an Iceberg table is, and how an error there is told
"""
