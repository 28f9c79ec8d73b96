"""What the connectors of several systems share.

``remote.py``                 sources at the other end of a connection, which is made again when it
                              is lost
``readings.py``               what all readings of one source have in common
``pulled_source.py``          sources that are asked for so many elements at a time
``granted_source.py``         sources that send by themselves, and no more than they were granted
``sql_query.py``              the query of a source: how it is asked for the rows after a key, and
                              where a row stands
``query_reading.py``          one reading of a query: where it stands, when it asks again, and when
                              it is over
``row_files.py``              sources whose rows lie in files, in an order that stays: each row has
                              a place, to go on after
``access.py``                 what a source shows to a server so that it is let in, and whom it
                              trusts
``tls.py``                    transport encryption: whom a source trusts, and what each side shows
                              of itself
``reconnecting.py``           a connection that is made again when it is lost, and listeners that
                              are told of it
``loop_thread.py``            an asyncio loop on its own thread
``sockets.py``                sockets: what the system is to do with connections, and how many a
                              server lets in
``server.py``                 what servers share: the socket, the thread, and one bounded subscriber
                              for each connection
``admission.py``              what a client asks of a server, which clients are let in, and what the
                              others are told
``connection_subscriber.py``  the subscriber of one connection: keeps elements until the connection
                              takes them
``connection_errors.py``      how an error of a connection is told: in the log, which nobody can
                              fill, and at the other end
``writer.py``                 the subscriber that every sink among the connectors is
``arrow_values.py``           values of Python as Arrow arrays, with nothing left out that is inside
``arrow_rows.py``             elements as Arrow batches with one schema, gathered until they make a
                              row group
``lake_table.py``             the base of sinks that store all rows of a batch and its number in one
                              commit
``table_shape.py``            tables as the user wants them: names, columns with their types, keys,
                              and the SQL for that
``rows.py``                   elements as rows: the values of a dictionary, and the rows of an Arrow
                              batch
``durable_files.py``          files that outlive a crash: when something counts as stored, and what
                              if one exists already
``opened_file.py``            a database in a file that others may remove while it is open
``full_disk.py``              a full disk under a file: the error that says so, and names the file
``formats.py``                elements outside of a program: their fields by name, as JSON, as lines
                              of bytes
"""
