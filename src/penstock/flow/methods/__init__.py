"""What users call: the methods of ``Flow``, with their checks and their documentation.

``creating.py``        creating flows
``transforming.py``    transforming: other elements
``filtering.py``       filtering: fewer elements
``flattening.py``      flattening: a publisher for each element
``combining.py``       combining several publishers
``batching.py``        batching: elements in lists, windows and groups
``error_handling.py``  error handling, and empty flows
``backpressure.py``    backpressure: elements that come without demand
``timing.py``          timing: elements by the clock
``threads.py``         threads: where elements are made
``asynchronous.py``    awaiting: elements that coroutines make
``spark.py``           apache Spark
``multicasting.py``    multicasting: one run for several subscribers
``inspecting.py``      inspecting without changing anything
``reducing.py``        reducing: one result of all elements
``running.py``         running a flow
"""
