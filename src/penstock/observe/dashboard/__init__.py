"""The page that shows a running pipeline, for the one who runs it.

``dashboard.py``    the page of a pipeline, from its address to its end
``server.py``       the server of the page, with an event loop of its own
``access.py``       who may see the page, and what a browser may do with it. Each request passes
                    here first
``keys.py``         what opens the page: a token for programs, an address that works once, and a
                    cookie of a session
``certificate.py``  TLS for the page, from a certificate and its key
``connections.py``  how many connections the page has, and how long one may take to show a key
``routes.py``       what is served: the page, its events, their history, the metrics
"""

from penstock.observe.dashboard.dashboard import Dashboard
from penstock.observe.unavailable import DashboardUnavailable

__all__ = ["Dashboard", "DashboardUnavailable"]
