"""From Spark's batches to elements, as they are wanted, and until they are committed.

``query.py``             one query of Spark, from its start to its end, and when it is started again
``file_log.py``          the log of a folder that Spark writes files into: which batches it has, of
                         whatever query
``dataframe_sinks.py``   sinks that Spark itself serves: each gets the DataFrame of every batch, and
                         its number
``batch_folders.py``     ``write_with_spark``: files that Spark writes, one folder for each batch,
                         each row once
``batch_transport.py``   how batches come back to this program: by a call of Spark's, or from a
                         server by TLS
``arrow_batches.py``     batches of Arrow as the JVM sends them: a number before each, and no schema
``unanswered_calls.py``  calls of Spark's that this program has not answered; none is left when
                         Python ends
``token_gate.py``        a socket that hands on connections that know a token, and holds few others
                         for a short time
``batch_delivery.py``    what becomes of a batch here: it waits, its rows go out, then the listener
                         commits it
``rows.py``              what a batch of Spark becomes in this program: rows, Arrow batches, a batch
                         with its number
``acknowledgement.py``   whether a batch that Spark commits has left this program, and nothing of it
                         waits here
``batch_phases.py``      where the time of a batch went, and how far event time has come, as Spark
                         reports it
``batch_counts.py``      what Spark itself counts in its batches, added up
``late_rows.py``         how many rows came too late for an aggregation
"""
