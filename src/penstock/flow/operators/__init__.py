"""How the operators work, one module for each, or for a family of the documentation.

``transforming.py``      other elements: ``map``, ``map_not_none``, ``flat_map_iterable``, ``scan``
``filtering.py``         fewer elements: ``filter``, ``take*``, ``skip*``, ``distinct*``
``reducing.py``          one element of all: ``reduce``, ``count``, ``collect``, ``last``,
                         ``for_each``
``flat_map.py``          each element becomes a publisher, whose elements go on
``switch_map.py``        each element becomes a publisher, which takes the place of the one before
``round_robin.py``       several inputs, one element after the other from whichever has some
``merge.py``             several publishers at a time, or one after the other
``zip.py``               the first elements of several publishers together, then the second ones,
                         and so on
``combine_latest.py``    the latest elements of several publishers
``race.py``              the fastest of several publishers
``with_latest_from.py``  elements, each with the latest one of another publisher
``take_until.py``        elements up to a signal of another publisher
``start_with_then.py``   what comes before a flow, and what comes after it
``combination.py``       what stages that make one stream of several publishers have in common
``inputs.py``            the inputs of stages that have several
``buffer.py``            elements in lists
``window.py``            elements in flows that follow each other
``group_by.py``          elements by their keys
``substreams.py``        a flow of flows, made of the elements from upstream
``substream_router.py``  one stream that is split into several, each of them with its own reader
``error_handling.py``    errors and empty flows: ``on_error_*``, ``switch_if_empty``, ``retry``,
                         ``repeat``
``backpressure.py``      how fast the flow upstream may run: ``on_backpressure_*``, ``conflate``,
                         ``limit_rate``
``overflow.py``          elements that come whether or not they are wanted: where they wait, and
                         what has no room
``timing.py``            elements by the time at which they come: ``delay``, ``debounce``,
                         ``throttle``, ``timeout``
``stage_timer.py``       how a stage waits for a moment, and what stages share that hold elements
                         until one
``threads.py``           boundaries between threads
``map_async.py``         calls that are awaited, some of them at once
``inspecting.py``        stages that change nothing: ``do_on_*``, ``do_finally``, ``named``,
                         ``annotate_errors``
``tap.py``               a listener beside the stream: it hears every signal and has no say
"""
