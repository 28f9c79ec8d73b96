"""Where the elements of a flow come from.

``from_iterable.py``   flows from what can be iterated, and flows without elements
``from_publisher.py``  flows from publishers of others: ``from_publisher`` and ``resumable``
``functions.py``       flows from functions: ``from_callable``, ``generate``, ``defer`` and
                       ``using``
``interval.py``        flows that tick
``create.py``          flows that callbacks and other threads feed
``from_async.py``      flows from what is awaited: elements that a coroutine makes, within demand
"""
