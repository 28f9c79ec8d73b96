"""The subscriber's end of one subscription."""

from __future__ import annotations

from penstock.api import UNBOUNDED, Subscription
from penstock.core.base_subscription import COMPLETED
from penstock.core.checks import require_subscription
from penstock.rules import RuleViolation, cite
from penstock.runtime import NewLock, report_undelivered, shorten
from penstock.runtime.arguments import require_int
from penstock.runtime.executor import ReentrantLock

__all__ = ["BaseSubscriber"]


class BaseSubscriber:
    """Holds at most one subscription, asks it for as much as fits, and remembers how it ended.

    ``accept``, ``admit`` and ``end`` take the publisher's signals, on any thread. ``refill`` and
    ``cancel`` call the subscription: the owner makes those calls one at a time (rule 2.7), mostly
    from within its drain.
    """

    __slots__ = ("_admitted", "_asked", "_closed", "_ending", "_lock", "_subscription", "capacity")

    def __init__(self, capacity: int, new_lock: NewLock = ReentrantLock) -> None:
        self.capacity = require_int("BaseSubscriber", "capacity", capacity)
        self._lock = new_lock()
        self._subscription: Subscription | None = None
        self._asked = 0
        self._admitted = 0
        self._closed = False
        self._ending: Exception | None = None

    def accept(self, subscription: Subscription) -> bool:
        """Take the subscription; one that is not needed is cancelled, and the answer is no."""
        require_subscription(subscription)
        with self._lock:
            taken = self._subscription is None and not self._closed
            if taken:
                self._subscription = subscription
        if not taken:
            quietly_cancel(subscription)  # 2.5, 2.6
        return taken

    def admit(self, *, unasked: bool = False) -> bool:
        """An element came; whether it counts.

        One that was not asked for ends the stream, unless there is room for an ``unasked`` one.
        """
        if self._admitted < self._asked and not self._closed and self._subscription is not None:
            # No lock, which would cost more than all the rest: signals come one after the other
            # (1.3), so nobody else counts here, and one that a cancel overtakes came before it.
            self._admitted += 1
            return True
        return self._admit_exception(unasked)

    def _admit_exception(self, unasked: bool) -> bool:
        """The same, with the lock, for any element that is not simply one that was asked for."""
        with self._lock:
            if self._closed:
                return False  # 2.8: it was on its way when we cancelled
            subscribed = self._subscription is not None
            if subscribed and (unasked or self._admitted < self._asked):
                self._admitted += 1
                self._asked = max(self._asked, self._admitted)
                return True
        if subscribed:
            self.fail(RuleViolation("1.1", "on_next came without demand"))
        else:
            self.fail(RuleViolation("1.9", "on_next came before on_subscribe"))
        return False

    def end(self, ending: Exception) -> None:
        """A terminal signal came: an error, or ``COMPLETED``. Drops the subscription (2.4)."""
        ending = _as_exception(ending)
        with self._lock:
            subscribed, self._subscription = self._subscription is not None, None
            if self._closed:
                return
            self._closed = True
            if subscribed:
                self._ending = ending
            else:
                message = f"the stream ended before on_subscribe: {shorten(ending)}"
                self._ending = RuleViolation("1.9", message)

    def fail(self, ending: Exception) -> bool:
        """The stream is over; its subscription may still be cancelled. Not if it was over before.

        Whether it ended like this is said here: ``ending`` may be handed over at any moment.
        """
        with self._lock:
            if self._closed:
                return False
            self._closed = True
            self._ending = ending
            return True

    @property
    def subscription(self) -> Subscription | None:
        """The subscription, as long as it can still give elements."""
        return self._subscription

    @property
    def asked(self) -> int:
        """Elements that were asked for since the start."""
        return self._asked

    @property
    def admitted(self) -> int:
        """Elements that came and counted since the start."""
        return self._admitted

    @property
    def ending(self) -> Exception | None:
        """How the stream ended: an error, ``COMPLETED``, or not yet."""
        return self._ending

    def hand_over_error(self) -> Exception:
        """The error with which it ended, for the caller to pass on.

        It is not kept: its traceback refers to frames of the user, and those refer back to us.
        """
        error, self._ending = self._ending, COMPLETED
        assert error is not None
        return error

    def refill(self, *, wanted: int, taken: int, starving_at: int = UNBOUNDED) -> None:
        """Ask for more, now that of all elements ``wanted`` are wanted and ``taken`` are gone.

        Both count from the start of the stream. No more than ``capacity`` elements are ever held
        here or on their way. Where demand is the limit, it is passed on as it is; where the
        capacity is, it is refilled in portions of three quarters, unless a reader starves: one that
        is at position ``starving_at`` while no element after that was asked for.
        """
        capacity = self.capacity  # read once: another thread may be changing it
        room = taken + capacity
        portion = capacity - capacity // 4 if wanted >= room else 1
        if min(wanted, room) - self._asked < portion and starving_at != self._asked:
            return  # seen without the lock, since others can only make it less
        with self._lock:
            missing = min(wanted, room) - self._asked
            subscription = self._subscription
            enough_for_now = missing < portion and starving_at != self._asked
            if subscription is None or self._closed or missing < 1 or enough_for_now:
                return
            self._asked += missing
        try:
            subscription.request(missing)
        except Exception as error:
            self.fail(RuleViolation("3.16", f"request({missing}) raised {shorten(error)}"))

    @property
    def refill_at(self) -> int:
        """With how many taken ``refill`` asks for a portion."""
        return self._asked - self.capacity // 4

    def until_refill(self, taken: int) -> int:
        """How many more are taken before that, at least one."""
        return max(self.refill_at - taken, 1)

    def cancel(self) -> None:
        """The stream is no longer needed, whether or not it has begun (rule 2.6)."""
        with self._lock:
            subscription, self._subscription = self._subscription, None
            self._closed = True
        if subscription is not None:
            quietly_cancel(subscription)


def quietly_cancel(subscription: Subscription) -> None:
    """Cancel a foreign subscription; should it raise, the hook is told (rule 3.15)."""
    try:
        subscription.cancel()
    except Exception as error:
        report_undelivered(error, cite("3.15", "cancel of a subscription raised"))


def _as_exception(ending: object) -> Exception:
    if isinstance(ending, Exception):
        return ending
    violation = RuleViolation("1.4", f"on_error got {shorten(ending)}, which is no Exception")
    if isinstance(ending, BaseException):
        violation.__cause__ = ending
    return violation
