"""One run of a flow for several subscribers.

``shared_flow.py``             a flow whose subscribers share one run
``sharing.py``                 when a shared run starts and stops
``shared_run.py``              one run of a flow for several subscribers
``fan_out.py``                 elements that go to several subscribers at a time
``grace_period.py``            how long a shared run goes on without a subscriber
``replay_history.py``          which elements a newcomer gets besides those to come
``broadcast.py``               a processor with many subscribers
``broadcast_subscription.py``  one subscriber of several
``shared_buffer.py``           elements that several readers take at their own pace
"""
