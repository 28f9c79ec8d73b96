"""Where Spark runs: embedded, on a cluster, by Spark Connect.

``spark_session.py``    the Spark session of a pipeline: embedded, on a cluster, by Spark Connect,
                        or handed in
``reachable.py``        whether somebody listens where a cluster is said to be; Spark itself would
                        ask for minutes
``executors.py``        whether a cluster still works for this program: a batch for which nobody
                        does waits for ever
``stop_signals.py``     who is told that a service is to stop: the user's program, and none of
                        Spark's processes
``temporary_files.py``  where Spark's JVM has its temporary files: in a folder of its own, unless
                        the user says where
``worker_python.py``    the Python that Spark starts here: this one, which reads pyspark as it is
                        installed
"""
