"""Elements, each with the latest one of another publisher."""

from __future__ import annotations

from typing import Any

from penstock.api import Publisher
from penstock.flow.elements import PENDING, Elements, Host, discard, started
from penstock.flow.intake import subscribe
from penstock.flow.operators.inputs import Input, close_all
from penstock.flow.operators.urgent import UrgentIntake
from penstock.flow.stage import BY_TIME, Stage

__all__ = ["WithLatestFrom"]


class WithLatestFrom(Stage):
    """Pairs of an element and what another publisher gave last."""

    rerun = BY_TIME
    waits = True
    checked = True

    def __init__(self, publisher: Publisher[Any]) -> None:
        super().__init__("with_latest_from")
        self._publisher = publisher

    def apply(self, elements: Elements, host: Host) -> Elements:
        """Subscribe to the other one at once."""
        return started(self.run(elements, host))

    def run(self, elements: Elements, host: Host) -> Elements:
        """Take all that the other one has in front of each element."""
        intake = UrgentIntake(host)
        other = Input(intake.elements(), host)
        main = Input(elements, host, sized=host.sized)
        latest, unseen = PENDING, False
        try:
            subscribe(intake, self._publisher)
            yield None
            while not host.over:
                host.ended.discard(intake)
                if other.look():
                    if unseen:
                        discard(host, (latest,))
                    latest, unseen = other.take(), True
                elif other.ended and latest is PENDING:
                    return
                elif not main.ready():
                    if main.exhausted:
                        return
                    yield PENDING
                elif latest is PENDING:
                    discard(host, (main.take(),))
                else:
                    unseen = False
                    yield main.take(), latest
        finally:
            host.ended.discard(intake)
            close_all((main, other))
            if unseen:
                discard(host, (latest,))
