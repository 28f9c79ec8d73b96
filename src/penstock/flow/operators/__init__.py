"""How the operators work, one module for each, or for a family of the documentation.

``transforming.py``      other elements: ``map``, ``map_not_none``, ``flat_map_iterable``, ``scan``,
                         ``enumerate``, ``pairwise``
``materialize.py``       signals as elements, and back again: ``materialize``, ``dematerialize``
``filtering.py``         fewer elements: ``filter``, ``take*``, ``skip*``, ``single``, ``distinct*``
``reducing.py``          one element of all: ``reduce``, ``count``, ``any``, ``all``,
                         ``collect``, ``last``, ``for_each``
``flattening.py``        each element becomes a publisher: ``flat_map``, ``concat_map``,
                         ``switch_map``, ``exhaust_map``
``flat_map_sequential.py``
                         publishers that run at the same time, and give their elements in order
``expand.py``            each element becomes a publisher, and so do the elements of that
``merge.py``             several publishers as one: ``merge``, ``concat``, ``race``, ``take_until``,
                         ``skip_until``, ``start_with``
``delay_subscription.py``
                         upstream is subscribed to later
``combining.py``         elements of several publishers together: ``zip``, ``combine_latest``,
                         ``with_latest_from``
``inputs.py``            the inputs of stages that have several, and how such a stage takes turns
                         with them
``batching.py``          elements in lists, and in flows that follow each other: ``buffer`` and
                         ``window``
``sliding_window.py``    flows of elements that overlap, or leave out some between them:
                         ``window(size, step=)``
``group_by.py``          elements by their keys, and what makes a flow of flows
``substream_router.py``  one stream that is split into several, each of them with its own reader
``error_handling.py``    errors and empty flows: ``on_error_*``, ``switch_if_empty``, ``repeat``,
                         ``retry``, `Retry`
``on_error_continue.py`` elements at which a function fails, left out and reported:
                         ``on_error_continue``
``backpressure.py``      how fast the flow upstream may run: ``on_backpressure_*``, ``conflate``,
                         ``limit_rate``
``timing.py``            elements by the time at which they come: ``delay``, ``debounce``,
                         ``throttle``, ``sample``, ``timeout``
``space_out.py``         elements kept apart in time, without loss: ``space_out``
``timestamp.py``         elements with the time at which they came: ``timestamp`` and ``elapsed``
``threads.py``           boundaries between threads
``map_async.py``         calls that are awaited, some of them at once
``inspecting.py``        stages that change nothing: ``do_on_*``, ``named``, ``annotate_errors``,
                         ``tap``
"""
