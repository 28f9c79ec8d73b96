"""What users call: the methods of ``Flow``, with their checks and their documentation.

``sources.py``       where flows begin
``transform.py``     other elements
``select.py``        fewer elements
``flatten.py``       flows of flows, made into one
``combine.py``       several publishers
``groups.py``        batches, windows and groups
``errors.py``        failures, and empty flows
``pressure.py``      elements that come without demand
``time.py``          waiting
``boundary.py``      other threads
``asynchronous.py``  elements that are awaited
``multicast.py``     one run for several subscribers
``peek.py``          looking without changing, and names
``terminals.py``     one result of all elements
``running.py``       how a flow is run, and what it gives
"""
