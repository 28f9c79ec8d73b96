"""Flow: the fluent publisher.

``surface/``       what users call: methods, checks, documentation
``sources/``       where elements come from
``operators/``     what happens to them
``sharing/``       one run for several subscribers
``diagnosis/``     what a flow is made of, and what its runs wait for
``stage.py``       operators as data
``plan.py``        what a subscription makes of them
``weaving.py``     runs of simple stages, woven into one loop each
``expression.py``  expressions over ``X``, which are written into that loop
``elements.py``    what flows between stages
``driver.py``      pulls a flow for a subscriber
``blocking.py``    pulls a flow for the thread that calls
``awaiting.py``    pulls a flow for a task of asyncio
``event_loop.py``  which loop the coroutines of a run belong to
``intake.py``      where foreign publishers enter
``resumption.py``  how a flow goes on after a restart: ``places.py``, ``inner_flows.py``
``placed.py``      an element with its place
``retry.py``       when and how often a flow that failed is run anew
``spark_hook.py``  where Spark is looked up
``site.py``        which line of the user's code made an operator
"""

from penstock.flow.expression import X
from penstock.flow.flow import Flow
from penstock.flow.grouped_flow import GroupedFlow
from penstock.flow.operators.overflow import Emitted, Overflow
from penstock.flow.retry import Retry
from penstock.flow.sharing.shared_flow import Connection, SharedFlow
from penstock.flow.sources.create import Emitter

__all__ = [
    "Connection",
    "Emitted",
    "Emitter",
    "Flow",
    "GroupedFlow",
    "Overflow",
    "Retry",
    "SharedFlow",
    "X",
]
