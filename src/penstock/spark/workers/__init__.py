"""What runs in Spark's Python processes.

``pickling.py``        what a pipeline sends to Spark's workers, and whether it can, found out
                       before data moves
``worker_daemon.py``   the process from which Spark forks its Python workers: that of pyspark, with
                       four changes
``journal_source.py``  the journal as a streaming source of Spark
``limited_stream.py``  the journal as a stream for a Spark that limits its batches itself, as it
                       does from 4.2 on
``functions.py``       what runs in Spark's workers: the user's functions, fused into one pass over
                       Arrow batches
``partitions.py``      subscribers in Spark's workers, each for one partition of a batch
"""
