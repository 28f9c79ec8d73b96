"""One run of a flow for several subscribers.

``shared_flow.py``             a flow whose subscribers share one run, and when that starts
``sharing_options.py``         how a run is shared: what newcomers get, and when it stops, or reads
                               on, without subscribers
``shared_run.py``              one run of a flow for several subscribers
``fan_out.py``                 elements that go to several subscribers at a time
``broadcast.py``               a processor with many subscribers
``broadcast_subscription.py``  one subscriber of several, and the buffer from which each takes
                               elements at its own pace
"""
