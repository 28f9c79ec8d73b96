"""The figures of a status in words: the same for terminal and notebook."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Final

from penstock.api import UNBOUNDED
from penstock.observe.units import counted

if TYPE_CHECKING:
    from penstock.observe.status import EdgeStatus, StageStatus, Status

__all__ = [
    "asked",
    "count",
    "duration",
    "headline",
    "in_flight",
    "movement",
    "pace",
    "passed",
    "rate",
    "seconds",
    "short",
    "size",
]

THOUSANDS: Final = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))
BYTES: Final = {"T": "TB", "B": "GB", "M": "MB", "K": "kB"}


def count(number: float) -> str:
    """A whole number."""
    return f"{rounded(number, '1'):,}"


def short(number: float) -> str:
    """A number with two or three digits that count."""
    if number >= 10_000:
        # What rounds to a thousand of one size is one of the next.
        size, letter = next(each for each in THOUSANDS if number >= each[0] * 0.99995)
        return f"{tenths(number / size)}{letter}"
    return count(number) if number >= 10 else tenths(number)


def size(number: float) -> str:
    """Bytes."""
    for each, letter in THOUSANDS:
        # What rounds to a thousand of one size is one of the next.
        if number >= each * 0.99995:
            return f"{tenths(number / each)} {BYTES[letter]}"
    return f"{count(number)} B"


def rate(per_second: float, unit: str = "") -> str:
    """Elements a second, or what else is counted."""
    return f"{counted(short(max(per_second, 0)), unit)}/s"


def seconds(value: float) -> str:
    """A short time."""
    if value < 1:
        return f"{short(value * 1_000)} ms"
    return f"{tenths(value)} s" if value < 60 else duration(value)


def duration(value: float) -> str:
    """Hours, minutes and seconds."""
    minutes, rest = divmod(int(max(value, 0)), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest:02}"


def tenths(number: float) -> str:
    """With one digit after the point, if it is not 0."""
    return f"{rounded(number, '0.1'):,}".removesuffix(".0")


def rounded(number: float, unit: str) -> Decimal:
    """Halves go up, as in a browser; Python's own formats round them to even."""
    return Decimal(repr(float(number))).quantize(Decimal(unit), ROUND_HALF_UP)


def headline(status: Status) -> str:
    """The name, the state and the time; how far it has come."""
    parts = [status.pipeline, status.state.upper(), duration(status.seconds)]
    if status.batch is not None:
        took = status.batch.seconds
        time = "" if took is None else f" ({seconds(took)})"
        parts.append(f"batch {count(status.batch.number)}{time}")
    if status.kept:
        rows = sum(each.rows for each in status.kept)
        memory = sum(each.bytes for each in status.kept)
        parts.append(f"state {count(rows)} rows ({size(memory)})")
    if status.checkpoint:
        parts.append(f"checkpoint {status.checkpoint}")
    if status.ledger.restarts:
        parts.append(f"restarted {count(status.ledger.restarts)}x")
    return "   ".join(parts)


def movement(status: Status) -> str:
    """What the charts show of this moment."""
    point = status.point
    demand = counted(short(point.demand), status.units.between)
    waiting = counted(short(point.in_flight), status.units.between)
    parts = [pace(status), f"asked for {demand}, in flight {waiting}"]
    if point.p50 is not None and point.p99 is not None:
        parts.append(f"latency {seconds(point.p50)}, p99 {seconds(point.p99)}")
    if point.lag is not None:
        parts.append(f"lag {seconds(point.lag)}")
    return "   ".join(parts)


def pace(status: Status) -> str:
    """How much comes and goes."""
    point, units = status.point, status.units
    return f"in {rate(point.rate_in, units.taken)}, out {rate(point.rate_out, units.given)}"


def passed(status: Status, stage: StageStatus) -> str:
    """What has left a stage."""
    return counted(count(stage.passed), stage.unit if status.units else "")


def asked(status: Status, edge: EdgeStatus | None) -> str:
    """The demand at an edge."""
    if edge is None:
        return ""
    if edge.requested >= UNBOUNDED:
        return "all"
    demand = short(max(edge.requested - edge.delivered, 0))
    return counted(demand, edge.unit if status.units else "")


def in_flight(status: Status, edge: EdgeStatus | None) -> str:
    """What is on its way, of the most that may be."""
    if edge is None:
        return ""
    held, capacity, unit = short(edge.in_flight), edge.capacity, edge.unit if status.units else ""
    if capacity is None:
        return counted(held, unit)
    return f"{held} of {counted(short(capacity), unit)}"
