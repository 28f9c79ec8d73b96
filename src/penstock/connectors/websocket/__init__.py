"""Websockets as sources and sinks, with demand over the connection.

``source.py``  a websocket as a source
``credit.py``  demand over a connection: the frames by which one end asks the other for elements
``server.py``  a websocket server as a sink: each connection is a separate subscriber
"""
