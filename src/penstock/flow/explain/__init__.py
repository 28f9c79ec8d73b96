"""What a flow is made of, and what its runs wait for.

Nothing is recorded for this while elements flow: runs and what they wait at are asked.

``explain.py``       a flow, its plan and its runs
``explanation.py``   what ``explain`` answers: data first, words made of it
``run_status.py``    what the runs of a flow do: which of them waits for whom, and how many elements
                     came by
``watch_stalls.py``  a timer that looks at a run by itself, and says what it waits for if it seems
                     to hang
"""
