"""Tables of PostgreSQL as sources and sinks.

``connecting.py``  connections to PostgreSQL: how they are made, what messages call them, what their
                   errors mean
``refusal.py``     why a server refuses a connection, by PostgreSQL's code: its words are in any
                   language
``source.py``      queries of PostgreSQL as sources
``pgoutput.py``    the messages of logical replication, as PostgreSQL's own plug-in ``pgoutput``
                   writes them
``slot.py``        a replication slot: what has to be there before it is read, and how much of it
                   was read
``changes.py``     changes of tables of PostgreSQL as sources, by logical replication
``shape.py``       tables of PostgreSQL: their names, the types of columns that Python's values ask
                   for, the SQL
``questions.py``   what a sink asks of the server about its table and its mark
``copying.py``     rows on their way into a table by COPY, kept until they are committed
``moments.py``     dates and times of which PostgreSQL would drop a part in silence
``table.py``       a table of PostgreSQL that has each row once, over kills and restarts of either
                   end
``sink.py``        tables of PostgreSQL as sinks
"""
