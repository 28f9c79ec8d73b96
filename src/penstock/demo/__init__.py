"""The blizzard of February 2013, replayed: real departures and weather through Spark, live.

``story.py``     the demo from its first line to its last: starts everything, and checks the totals
``blizzard.py``  the pipeline of the demo: delays and cancellations per airport and hour, with the
                 weather
``airport.py``   the outside world of the demo: departures and weather by websocket, at many times
                 their pace
``week.py``      the data of the demo, and what is known of it
``board.py``     the departure board: a sink that keeps one row for each airport and hour
"""
