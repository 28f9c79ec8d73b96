"""Publishers that claim what they cannot do."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from penstock.runtime import report_undelivered
from tests.tck.mutants.publishers import Claims, Numbers, Stream
from tests.tck.mutants.publishers_subscribe import Branch, Hub


class ReportsNothing(Stream):
    """2.13: says that it reports what a subscriber raises, and does not."""

    claims: ClassVar[Claims] = {"reports_to_hook": True}


class Reporting(Stream):
    """A sound stream that reports what its subscriber raises."""

    claims: ClassVar[Claims] = {"reports_to_hook": True}

    def raised(self, subscriber: Any, error: Exception) -> None:
        super().raised(subscriber, error)
        report_undelivered(error, "a subscriber raised")


class ReportsTwice(Reporting):
    """2.13: reports what a subscriber raises where it is caught, and again where it is handled."""

    def raised(self, subscriber: Any, error: Exception) -> None:
        super().raised(subscriber, error)
        report_undelivered(error, "the stream was cancelled")


class Closing(Stream):
    """A sound stream that closes its source when it is cancelled."""

    def __init__(self, publisher: Numbers, subscriber: Any) -> None:
        super().__init__(publisher, subscriber)
        self.turn_to_close = threading.Lock()

    def cancel(self) -> None:
        with self.turn_to_close:
            was_open = self.subscriber is not None
            super().cancel()
        if was_open:
            self.close()

    def close(self) -> None:
        count = vars(self.publisher)
        count["closed"] = count.get("closed", 0) + 1


def times_closed(publisher: Numbers) -> int:
    return int(vars(publisher).get("closed", 0))


class ClosesTwice(Closing):
    """3.5: closes its source once for each thread that cancels at the same time."""

    claims: ClassVar[Claims] = {"closed": times_closed}

    def cancel(self) -> None:
        if self.subscriber is not None:
            Stream.cancel(self)
            self.close()


class ClosesEachTime(Closing):
    """3.5: closes its source with each cancel."""

    claims: ClassVar[Claims] = {"closed": times_closed}

    def cancel(self) -> None:
        self.subscriber = None
        self.close()


class LeavesItsSourceOpen(Closing):
    """3.12: does not close its source when it is cancelled."""

    claims: ClassVar[Claims] = {"closed": times_closed}

    def close(self) -> None:
        pass


class RaisesWhatCloseRaises(Closing):
    """3.15: lets what its source raises on being closed pass through cancel."""

    claims: ClassVar[Claims] = {"unclosable": lambda: Numbers(3, RaisesWhatCloseRaises)}

    def close(self) -> None:
        raise OSError("the source cannot be closed")


class NeverShutsDown(Hub):
    """3.14: says that it shuts down, and serves newcomers after its last subscriber left."""

    claims: ClassVar[Claims] = {"shuts_down_when_idle": True}


class ShutsDownWithEach(Hub):
    """3.14: shuts down with the first subscriber that leaves, even if others stay."""

    claims: ClassVar[Claims] = {"multicast": True, "shuts_down_when_idle": True}
    shut_down = False

    def left(self, branch: Branch) -> None:
        super().left(branch)
        self.shut_down = True

    def join(self, branch: Branch) -> None:
        super().join(branch)
        if self.shut_down:
            branch.error = RuntimeError("shut down")


class ShutsDownAnyway(ShutsDownWithEach):
    """3.14: shuts down with its last subscriber, though it is kept alive."""

    claims: ClassVar[Claims] = {
        "shuts_down_when_idle": True,
        "keep_alive": lambda publisher: publisher,
    }

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class StaysAliveForEver(ShutsDownAnyway):
    """3.14: does not shut down when it is no longer kept alive."""

    claims: ClassVar[Claims] = {
        "shuts_down_when_idle": True,
        "keep_alive": lambda publisher: publisher,
    }
    held = False

    def __enter__(self) -> None:
        self.held = True

    def left(self, branch: Branch) -> None:
        super().left(branch)
        self.shut_down = not self.held
