"""Server-sent events as sources and sinks.

``source.py``          server-sent events as a source
``bounded_stream.py``  what an HTTP server sends, decompressed, and never more of one event than was
                       agreed
``events.py``          how a stream ends in server-sent events, which have no word for that
``server.py``          a server of events as a sink: each connection is a separate subscriber
"""
