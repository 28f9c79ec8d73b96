"""The page that shows a running pipeline, for the one who runs it.

``dashboard.py``  the page of a pipeline, from its address to its end
``server.py``     the server of the page, with an event loop of its own, and the connections that it
                  lets in
``access.py``     who may see the page, and what a browser may do with it. Each request passes here
                  first
``keys.py``       what opens the page: a token for programs, an address that works once, and a
                  cookie of a session
``probes.py``     what a supervisor asks without a key: whether the pipeline is alive, and whether
                  it is ready
``routes.py``     what is served: the page, its events, the status, its history, the metrics, the
                  probes
"""

from penstock.observe.dashboard.dashboard import Dashboard, DashboardUnavailable

__all__ = ["Dashboard", "DashboardUnavailable"]
