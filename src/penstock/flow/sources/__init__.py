"""Where the elements of a flow come from.

``creating.py``    flows from iterables, functions, publishers and a clock, and flows without
                   elements
``create.py``      flows that callbacks and other threads feed
``from_async.py``  flows from what is awaited: elements that a coroutine makes, within demand
"""
