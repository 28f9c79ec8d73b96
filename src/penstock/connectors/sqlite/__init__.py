"""Tables of SQLite databases as sources and sinks.

``source.py``   queries of SQLite databases as sources
``errors.py``   what the errors of SQLite mean to somebody who writes into a table
``staging.py``  rows of a batch that wait beside a SQLite database until the batch is committed
``values.py``   values as SQLite holds them: as they are, as texts, or refused
``table.py``    a table of a SQLite database that has each row once, over kills and restarts of a
                checkpoint
``sink.py``     tables of SQLite databases as sinks
"""
