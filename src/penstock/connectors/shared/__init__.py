"""What the connectors of several systems share.

``remote.py``                 sources at the other end of a connection, which is made again when it
                              is lost
``access.py``                 what a source shows to a server so that it is let in, and whom it
                              trusts
``tls.py``                    transport encryption: whom a source trusts, and what a server shows of
                              itself
``client_certificate.py``     whether a server that hangs up does so because it wants a certificate
                              of ours
``reconnecting.py``           a connection that is made again when it is lost
``connection_events.py``      listeners that are told where sources connect to, and what keeps them
                              from their work
``loop_thread.py``            an asyncio loop on its own thread
``socket_options.py``         what the system is to do with the connections of sources and servers
``server.py``                 what servers share: the socket, the thread, and one bounded subscriber
                              for each connection
``listening_socket.py``       the socket at which a server listens: how many it lets in, and how
                              long they may be silent
``admission.py``              what a client asks of a server, which clients are let in, and what the
                              others are told
``connection_subscriber.py``  the subscriber of one connection: keeps elements until the connection
                              takes them
``connection_log.py``         what is logged of strangers: little, seldom, and nothing that they or
                              others must not see
``remote_error.py``           how a stream that fails says so to the other end of a connection, and
                              what is raised there
``writer.py``                 the subscriber that every sink among the connectors is
``existing.py``               what becomes of a file, or of a folder of files, that is there before
                              its sink is opened
``durable_files.py``          files that outlive a crash: when something counts as stored, and who
                              may write it
``named_fields.py``           the fields of an element by their names
``json_text.py``              elements as JSON
``lines.py``                  lines of bytes, none of them longer than is agreed
"""
