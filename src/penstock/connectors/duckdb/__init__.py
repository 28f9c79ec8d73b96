"""Tables of DuckDB databases as sources and sinks.

``opening.py``  databases of DuckDB: how they are opened, who else has them, what their errors mean
``source.py``   queries of DuckDB databases as sources
``texts.py``    values that come to DuckDB as texts: Arrow has no type for them, or not for all of a
                value
``shape.py``    tables of DuckDB: their names and types, rows as Arrow tables for them, the SQL
``table.py``    a table of a DuckDB database that has each row once, over kills and restarts of a
                checkpoint
``sink.py``     tables of DuckDB databases as sinks
"""
