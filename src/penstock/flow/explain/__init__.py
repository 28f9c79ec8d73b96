"""What a flow is made of, and what its runs wait for.

Nothing is recorded for this while elements flow: runs and what they wait at are asked.

``explain.py``       what a flow is made of, what its runs do, which of them waits for whom, and
                     what came by
``explanation.py``   what ``explain`` answers: data first, words made of it
``watch_stalls.py``  a timer that looks at a run by itself, and says what it waits for if it seems
                     to hang
"""
