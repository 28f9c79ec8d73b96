"""Each fault in words: what the party did, which rule it breaks, how to fix it."""

from __future__ import annotations

import traceback
from typing import Final

from penstock.core import without_own_frames
from penstock.core.protocol_monitor import Fault
from penstock.runtime import shorten

REFUSE_NONE: Final = "raise TypeError when the argument of a signal is None"
REFUSE_NOBODY: Final = "raise TypeError in subscribe when the subscriber is None"


# What a publisher does.


def nested(signal: str, running: str) -> Fault:
    """A signal within a signal, though the subscriber did not ask for it from there."""
    return Fault(
        "1.3",
        f"called {signal} from within {running}, on the same thread",
        "queue a signal that arises during another one, and send it when that one has returned",
    )


def subscribe_raised(error: Exception) -> Fault:
    """``subscribe`` did not return normally."""
    return Fault(
        "1.9",
        f"raised {described(error)} in subscribe",
        "call on_subscribe and then on_error with that exception, instead of raising it",
        cause=traceback_of(error),
    )


def took_nobody() -> Fault:
    """``subscribe(None)`` returned."""
    return Fault(
        "1.9",
        "accepted None as subscriber",
        REFUSE_NOBODY,
        harmless=True,
    )


def refused_nobody_oddly(error: Exception) -> Fault:
    """``subscribe(None)`` raised something else than ``TypeError``."""
    return Fault(
        "1.9",
        f"raised {described(error)} in subscribe(None), where TypeError is due",
        REFUSE_NOBODY,
        harmless=True,
        cause=traceback_of(error),
    )


def subscribed_twice(subscriber: str) -> Fault:
    """The caller's fault, not the publisher's."""
    return Fault(
        "1.10",
        f"was given {subscriber} a second time while its first stream goes on; the call was left"
        " out",
        "call subscribe with a new subscriber each time",
        harmless=True,
    )


def recursion(depth: int) -> Fault:
    """``on_next`` within ``request`` within ``on_next``, and so on."""
    return Fault(
        "3.3",
        f"nested on_next in request {depth} levels deep",
        "let a request that comes during on_next only add to the demand, and send in a loop",
    )


def served_after_cancel(number: int) -> Fault:
    """A request after ``cancel`` had an effect."""
    return Fault(
        "3.6",
        f"sent element number {number} for a request that came after cancel",
        "ignore request once cancel was called",
    )


def ignored_illegal_request(n: str) -> Fault:
    """``request(0)`` was not answered."""
    return Fault(
        "3.9",
        f"went on serving later requests after request({n}), without on_error",
        "answer request(n <= 0) by on_error(ValueError), which ends the stream",
        harmless=True,
    )


def cancel_raised(error: Exception) -> Fault:
    """``cancel`` did not return normally."""
    return Fault(
        "3.15",
        f"raised {described(error)} in cancel",
        "catch and log what goes wrong while a stream is being closed",
        harmless=True,
        cause=traceback_of(error),
    )


def request_raised(n: object, error: Exception) -> Fault:
    """``request`` did not return normally."""
    return Fault(
        "3.16",
        f"raised {described(error)} in request({shorten(n)})",
        "signal failures by on_error, also those of an illegal n",
        cause=traceback_of(error),
    )


# What a subscriber does.


def called_in_terminal(call: str, signal: str) -> Fault:
    """A call upstream while the stream is taken down."""
    return Fault(
        "2.3",
        f"called {call} from within {signal}",
        "call nothing on the subscription in on_error and on_complete; there is nothing to cancel",
    )


def requested_after_end(signal: str) -> Fault:
    """A subscription used beyond its end."""
    return Fault(
        "2.4",
        f"called request after {signal}",
        "drop the subscription when on_error or on_complete comes",
    )


def kept_second_subscription(how: str) -> Fault:
    """Two streams into one subscriber."""
    return Fault(
        "2.5",
        f"{how} a second subscription instead of cancelling it",
        "in on_subscribe, cancel the new subscription if there is one already",
    )


def overlapping_calls(call: str) -> Fault:
    """Two threads call the subscription at once."""
    return Fault(
        "2.7",
        f"called {call} while another of its threads was still inside the subscription",
        "let one thread at a time call request and cancel",
    )


def signal_raised(signal: str, error: Exception) -> Fault:
    """A signal did not return normally."""
    return Fault(
        "2.13",
        f"raised {described(error)} in {signal}",
        "catch the exception in the subscriber and cancel the subscription",
        cause=traceback_of(error),
    )


def took_none(signal: str) -> Fault:
    """A subscriber let ``None`` pass."""
    return Fault("2.13", f"accepted None in {signal}", REFUSE_NONE)


def refused_none_oddly(signal: str, error: Exception) -> Fault:
    """A subscriber refused ``None`` by something else than ``TypeError``."""
    what = f"raised {described(error)} in {signal}(None), where TypeError is due"
    return Fault("2.13", what, REFUSE_NONE, cause=traceback_of(error))


def illegal_request(n: object) -> Fault:
    """A number of elements that nobody can send."""
    return Fault(
        "3.9",
        f"called request({shorten(n)})",
        "request an int of at least 1; check where the number was calculated",
    )


def described(error: Exception) -> str:
    """An exception in one line, whatever its own methods do."""
    return shorten(error)


def traceback_of(error: Exception) -> str:
    """The traceback as Python prints it, from the party's own code on."""
    return "".join(traceback.format_exception(without_own_frames(error))).rstrip()
