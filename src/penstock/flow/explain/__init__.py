"""What a flow is made of, and what its runs wait for.

Nothing is recorded for this while elements flow: runs and what they wait at are asked.

``explain.py``       a flow, its plan and its runs
``explanation.py``   what ``explain`` answers: data first, words made of it
``run_status.py``    from a run to those upstream of it, and which of them waits for whom
``upstreams.py``     what a run waits at, which run brings elements there, and what a thread does
``counting.py``      how many elements a run has delivered, read off what counts anyway
``watch_stalls.py``  a timer that looks at a run by itself, and says what it waits for if it seems
                     to hang
"""
