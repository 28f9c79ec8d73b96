"""The checks: one function for each thing that a rule demands, by kind of party.

``suites.py``                  what a check is, and the suites that the checks are in, one for each
                               kind of party
``all_checks.py``              all checks: the modules that fill the suites, and the checks that
                               suites lend to each other
``publisher_demand.py``        checks for publishers: how request is answered, with elements within
                               demand or with an error
``publisher_signals.py``       checks for publishers: one signal at a time, and subscribers that
                               raise in one
``publisher_endings.py``       checks for publishers: how a stream ends, by itself or by a cancel,
                               and that it is over then
``publisher_subscribe.py``     checks for publishers: subscribe, once, twice, and with subscribers
                               of all kinds
``publisher_capabilities.py``  checks for publishers that claim more than the standard asks of
                               everybody
``subscriber_demand.py``       checks of what a subscriber requests, also of a publisher that
                               answers within ``request``
``subscriber_signals.py``      checks of the signals as calls: how long they take, how they end,
                               from several threads
``subscriber_endings.py``      checks of how a subscriber takes the end of its stream, and of when
                               it cancels one itself
``processor_passage.py``       checks of what passes through a processor: elements and completion,
                               errors, and demand back
``processor_capabilities.py``  checks for processors that claim more than the standard asks of
                               everybody
``operator_elements.py``       checks of the elements that go through an operator, their demand, and
                               threads on both sides
``operator_endings.py``        checks of how a stream through an operator ends: by completion, by
                               errors, by a cancel
``operator_references.py``     checks that an operator drops its elements when a stream is over:
                               rules 1.6 and 3.13
``operator_context.py``        checks for operators that keep the context of the subscriber, which
                               no rule asks of them
"""
