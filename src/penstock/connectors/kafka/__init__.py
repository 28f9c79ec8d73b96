"""Topics of Kafka as sources and sinks.

``source.py``    topics of Kafka as sources
``reading.py``   one reading of a topic: its partitions, from an offset each
``offsets.py``   where to begin in a partition: at a choice, or at an offset that may be gone
``positions.py`` how far a topic was read: what a position says, which goes along with each message
``messages.py``  messages of a topic as elements, each with the position after it
``sink.py``      topics of Kafka as sinks
``topic.py``     a topic of Kafka that has each row once, over kills and restarts of a checkpoint
``marks.py``     where a sink finds out what it has: a topic that keeps the last mark of each sink
``client.py``    the client of Kafka: its settings, those of the user among them, and its errors in
                 words
"""
