"""Flow: the fluent publisher.

``flow.py``        ``Flow``, the fluent publisher: its methods stand in ``methods/``, one module for
                   each family
``base_flow.py``   what every flow is: an origin, the stages downstream, and how to run them
``methods/``       what users call: the methods of ``Flow``, with their checks and their
                   documentation
``expression.py``  expressions over the current element, which are written into the loop of a flow
``sources/``       where the elements of a flow come from
``operators/``     how the operators work, one module for each, or for a family of the documentation
``multicast/``     one run of a flow for several subscribers
``engine/``        the engine of flows: from operators as data to elements that are pulled within
                   demand
``resume/``        how a flow goes on after a restart: the position of each element, and what a new
                   run needs of it
``explain/``       what a flow is made of, and what its runs wait for
``checks.py``      the checks of what is given to an operator: errors at assembly, in the words of
                   the operator
"""

from penstock.core.signals import OnComplete, OnError, OnNext
from penstock.flow.expression import X
from penstock.flow.flow import Flow, GroupedFlow
from penstock.flow.multicast.shared_flow import Connection, SharedFlow
from penstock.flow.operators.backpressure import Emitted, Overflow
from penstock.flow.operators.error_handling import Retry
from penstock.flow.operators.timestamp import Elapsed, TimestampedElement
from penstock.flow.sources.create import Emitter

__all__ = [
    "Connection",
    "Elapsed",
    "Emitted",
    "Emitter",
    "Flow",
    "GroupedFlow",
    "OnComplete",
    "OnError",
    "OnNext",
    "Overflow",
    "Retry",
    "SharedFlow",
    "TimestampedElement",
    "X",
]
