"""The page that shows a running pipeline, for the one who runs it.

``dashboard.py``    ``Dashboard``: an address, a thread, and how both end
``gate.py``         who may see it: the key, the host, the origin; what a browser may do with it
``keys.py``         the token, the address that works once, the cookie
``connections.py``  how many connections there may be, and for how long without a key
``certificate.py``  TLS
``routes.py``       the page, its events and their history, the metrics
``news.py``         the latest view for each window that is open
``serving.py``      the server
``unavailable.py``  what keeps the page from being served
``static/``         the page itself; its charts are drawn by uPlot, in ``vendor/``
"""

from penstock.observe.dashboard.dashboard import Dashboard
from penstock.observe.dashboard.unavailable import DashboardUnavailable

__all__ = ["Dashboard", "DashboardUnavailable"]
