"""Websockets as sources and sinks, with demand over the connection.

``source.py``  a websocket as a source
``credit.py``  demand that is told to the other end of a connection
``frames.py``  the frames by which one end of a websocket asks the other for elements
``server.py``  a websocket server as a sink: each connection is a separate subscriber
"""
