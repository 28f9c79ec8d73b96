"""What a flow is made of, and what its runs wait for.

Nothing is recorded for this while elements flow: all is read off the runs when somebody asks.

``explanation.py``  the answer, as data and in words
``supplies.py``     where a run gets its elements from
``counting.py``     how many elements a run has delivered
``work.py``         what a thread does within a run
``looking.py``      from a run to those in front of it, and which of them waits for whom
``explain.py``      a flow, its plan and its runs
``watchdog.py``     a timer that looks by itself
"""
