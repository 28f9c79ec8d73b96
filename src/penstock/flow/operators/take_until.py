"""Elements up to a signal of another publisher."""

from __future__ import annotations

from typing import Any

from penstock.api import Publisher
from penstock.demand import COMPLETED
from penstock.flow.elements import Elements, Host, close, started
from penstock.flow.intake import subscribe
from penstock.flow.operators.urgent import UrgentIntake
from penstock.flow.stage import EACH_ALONE, Stage

__all__ = ["TakeUntil"]


class TakeUntil(Stage):
    """The elements that come before another publisher gives anything, be it its end."""

    rerun = EACH_ALONE
    waits = True

    def __init__(self, publisher: Publisher[Any]) -> None:
        super().__init__("take_until")
        self._publisher = publisher

    def apply(self, elements: Elements, host: Host) -> Elements:
        """Subscribe to the other one at once."""
        return started(self.run(elements, host))

    def run(self, elements: Elements, host: Host) -> Elements:
        """Ask behind each element whether it is over."""
        signal = UrgentIntake(host, prefetch=1)
        try:
            subscribe(signal, self._publisher)
            yield None
            if not signal.has_come():
                for x in elements:
                    yield x
                    if signal.has_come():
                        break
            if signal.ending not in (None, COMPLETED):
                raise signal.hand_over_error()
        finally:
            host.ended.discard(signal)
            signal.close()
            close(elements)
