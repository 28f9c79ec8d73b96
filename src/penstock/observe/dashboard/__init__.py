"""The page that shows a running pipeline, for the one who runs it.

``dashboard.py``    the page of a pipeline, from its address to its end
``server.py``       the server of the page, with an event loop of its own, and its certificate
``access.py``       who may see the page, what opens it, and what a browser may do with it
``connections.py``  how many connections the page has, and how long one may take to show a key
``routes.py``       what is served: the page, its events, their history, the metrics
"""

from penstock.observe.dashboard.dashboard import Dashboard
from penstock.observe.unavailable import DashboardUnavailable

__all__ = ["Dashboard", "DashboardUnavailable"]
