"""Tables of Apache Iceberg as sources and sinks, without Spark.

``sink.py``     tables of Iceberg as sinks
``table.py``    an Iceberg table that has each row once, over kills and restarts of a checkpoint
``types.py``    the types that Iceberg has, as Arrow knows them
``catalog.py``  where an Iceberg table is, and how an error there is told
"""
