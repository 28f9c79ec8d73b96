"""What runs in Spark's Python processes.

``pickling.py``        what a pipeline sends to Spark's workers, and whether it can, found out
                       before data moves
``worker_daemon.py``   the process from which Spark forks its Python workers: that of pyspark, with
                       four changes
``journal_source.py``  the journal as a streaming source of Spark
``limited_stream.py``  the journal as a stream for a Spark that limits its batches itself, as it
                       does from 4.2 on
``partitioned_source.py``  publishers as a streaming source of Spark: each partition of a batch
                       subscribes to one of them
``partition_subscriber.py``  a subscriber in a task of Spark that takes one partition's part of a
                       batch, and no more
``partition_ends.py``  where each partition of a batch ended: the first task that has it read
                       decides for all others
``functions.py``       what runs in Spark's workers: the user's functions, fused into one pass over
                       Arrow batches
``stateful.py``        a user's function that keeps something for each key, in Spark's state store
``partitions.py``      subscribers in Spark's workers, each for one partition of a batch
"""
