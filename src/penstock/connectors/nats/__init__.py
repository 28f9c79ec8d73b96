"""Streams of NATS, which JetStream keeps, as sources and sinks.

``connecting.py``  connections: how they are made, what messages call them, what their errors mean
``pulling.py``     asks a stream for so many messages, and counts what comes
``messages.py``    messages of a stream as elements
``sequences.py``   where to begin in a stream, and what if that is gone
``reading.py``     one reading of a stream
``source.py``      a stream as a source
``publishing.py``  messages on their way into a stream, until each is acknowledged
``marks.py``       where a sink finds out what it has: a bucket with the last mark of each sink
``stored_rows.py`` what is there of a batch that was begun and not ended
``stream_sink.py`` a stream that has each row once, over kills and restarts of a checkpoint
``sink.py``        a stream as a sink
"""
