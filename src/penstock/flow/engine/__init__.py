"""The engine of flows: from operators as data to elements that are pulled within demand.

``stage.py``                operators as data: what a flow is made of before anybody subscribes
``plan.py``                 from operators as data to something that runs: fused stages become one
                            segment each
``fusion.py``               stages fused into one generator each
``trampoline.py``           long chains of stages, pulled in sections, so that none of them is deep
                            on the stack
``run_context.py``          what flows between the stages of a flow: elements, pulled one at a time
``input_context.py``        the context of one input of a stage: it tells what fails there from what
                            fails elsewhere
``chunks.py``               elements that come in portions: one by one they cost no step of Python
``prefetch_subscriber.py``  where elements of a foreign publisher enter a flow
``subscription.py``         a subscriber's way through a flow: pulls the last stage as far as demand
                            goes
``blocking.py``             running a flow on the thread that wants its elements
``awaiting.py``             running a flow in a task of an asyncio loop
``event_loop.py``           the asyncio loop of a run: the one that runs where the run is opened, or
                            where it began
``call_site.py``            where in the user's code an operator was called, and how errors say so
"""
