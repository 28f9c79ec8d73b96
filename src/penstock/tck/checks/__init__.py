"""The checks: one function for each thing that a rule demands, by kind of party.

``suites.py``                  the suites that the modules with checks add to, one for each kind of
                               party
``all_checks.py``              all checks: the modules that fill the suites, and the checks that
                               suites lend to each other
``publisher_demand.py``        checks for publishers: elements within demand, and demand that adds
                               up
``publisher_signals.py``       checks for publishers: one signal at a time, and subscribers that
                               raise in one
``publisher_ends.py``          checks for publishers: how a stream ends, and that it is over then
``publisher_subscribe.py``     checks for publishers: subscribe, once, twice, and with subscribers
                               of all kinds
``publisher_request.py``       checks for publishers: how request takes its argument, and that it
                               returns, soon and normally
``publisher_cancel.py``        checks for publishers: what cancel does, how often and from wherever
                               it is called
``publisher_capabilities.py``  checks for publishers that claim more than the standard asks of
                               everybody
``subscriber_demand.py``       checks of what a subscriber requests, and from where: rules 1.10,
                               2.1, 3.1, 3.8 and 3.9
``subscriber_signals.py``      checks of the signals as calls, how long they take and how they end:
                               rules 2.2 and 2.13
``subscriber_reentrance.py``   checks with a publisher that answers from within ``request``: rules
                               3.10 and 3.11
``subscriber_cancelling.py``   checks of when a subscriber cancels and of what follows: rules 2.5,
                               2.6, 2.8, 3.6 and 3.7
``subscriber_endings.py``      checks of how a subscriber takes the end of its stream: rules 2.3,
                               2.4, 2.9 and 2.10
``subscriber_threads.py``      checks of a subscriber that works with several threads: rules 2.7 and
                               2.11
``processor_passage.py``       checks of what passes through a processor, both ways: rules 4.1, 2.4
                               and 2.7
``processor_errors.py``        checks of errors that come from upstream: rule 4.2
``processor_claimed.py``       checks for processors that claim more than the standard asks of
                               everybody
``operator_elements.py``       checks of the elements that go through an operator, and of the demand
                               for them
``operator_endings.py``        checks of how a stream through an operator ends: by completion, by
                               errors, by a cancel
``operator_threads.py``        checks of an operator with threads on both sides: rules 1.3, 2.7, 3.5
                               and 4.1
``operator_references.py``     checks that an operator drops its elements when a stream is over:
                               rules 1.6 and 3.13
``operator_context.py``        checks for operators that keep the context of the subscriber, which
                               no rule asks of them
"""
