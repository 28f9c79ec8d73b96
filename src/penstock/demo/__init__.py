"""The blizzard of February 2013, replayed: real departures and weather through Spark, live.

``week.py``      the data, and what is known of it
``airport.py``   gives them away by websocket, at many times their pace; a program of its own
``in_step.py``   keeps departures and weather together on their way through the days
``blizzard.py``  the pipeline: joins both, and counts delays and cancellations per airport and hour
``board.py``     its sink, which remembers what it has
``story.py``     starts them, kills the pipeline if told to, and checks the totals
"""
