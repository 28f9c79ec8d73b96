"""What a flow is made of, and what its runs wait for.

Nothing is recorded for this while elements flow: all is read off the runs when somebody asks.

``explain.py``       a flow, its plan and its runs
``explanation.py``   what ``explain`` answers: data first, words made of it
``run_status.py``    from a run to those upstream of it, and which of them waits for whom
``upstreams.py``     where a run gets its elements from, found by following what its stages refer to
``counting.py``      how many elements a run has delivered, read off what counts anyway
``watch_stalls.py``  a timer that looks at a run by itself, and says what it waits for if it seems
                     to hang
"""
