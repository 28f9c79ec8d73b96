"""Tables of SQLite databases as sinks.

``sink.py``   tables of SQLite databases as sinks
``table.py``  a table of a SQLite database that has each row once, over kills and restarts of a
              checkpoint
"""
