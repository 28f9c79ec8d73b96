"""The marble diagrams in the documentation of the operators are right."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import penstock
import penstock.testing
from docs.marble_picture import is_call, picture, read_frames
from docs.operators import GROUPS
from penstock import UNBOUNDED, Flow, VirtualTime
from penstock.core.signals import OnComplete, OnError, OnNext, Signal
from penstock.testing import ManualSubscriber, marble
from tests.public_names import public_names

# They give no stream that could be drawn, or one that needs Spark.
WITHOUT_MARBLES = {
    "blocking",
    "connect",
    "explain",
    "from_dataframe",
    "on_spark",
    "run_sync",
    "subscribe",
}
TURNS = 20
OPERATORS = {
    operator.name: operator
    for group in GROUPS
    for operator in group.operators
    if operator.name not in WITHOUT_MARBLES
}


@pytest.mark.parametrize("name", OPERATORS)
def test_the_marbles_of_an_operator_show_what_it_does(name: str) -> None:
    operator = OPERATORS[name]
    assert operator.marble, f"{name} has no section Marble"
    *inputs, call, output = operator.marble
    time = VirtualTime()
    flows = {
        given: Flow.from_publisher(marble(diagram, time=time))
        for given, diagram in zip(["flow", "other", "third"], inputs, strict=False)
    }
    names = {**vars(penstock.testing), **public_names(penstock), **flows, "time": time}
    result: Flow[Any] = eval(call, names)
    frames = read_frames(output)
    assert asyncio.run(received(result, time, len(frames))) == frames


@pytest.mark.parametrize("name", OPERATORS)
def test_the_marbles_of_an_operator_can_be_drawn(name: str) -> None:
    drawn = picture(OPERATORS[name].marble)
    signals = [
        signal
        for line in OPERATORS[name].marble
        if not is_call(line)
        for frame in read_frames(line)
        for signal in frame
    ]
    assert drawn.count('class="call"') == 1
    assert drawn.count('class="end"') == signals.count("|")
    assert drawn.count('class="failure"') == signals.count("#")
    assert drawn.count('class="marble"') == len([each for each in signals if each not in "|#"])


async def received(flow: Flow[Any], time: VirtualTime, frames: int) -> list[list[str]]:
    """What came in each frame."""
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED, time=time)
    flow.subscribe(subscriber)
    for _ in range(frames - 1):
        await settle(time)
        time.advance(1)
    await settle(time)
    came: list[list[str]] = [[] for _ in range(frames)]
    for signal in subscriber.signals:
        if isinstance(signal, OnNext | OnError | OnComplete):
            came[round(signal.at)].append(symbol(signal))
    subscriber.cancel()
    await settle(time)
    return came


async def settle(time: VirtualTime) -> None:
    """Let all that is due happen, in virtual time and in the tasks of the loop by turns."""
    for _ in range(TURNS):
        time.advance(0)
        await asyncio.sleep(0)


def symbol(signal: Signal[Any]) -> str:
    """How a signal is written."""
    if isinstance(signal, OnNext):
        element = signal.element
        word = "".join(map(str, element)) if isinstance(element, list | tuple) else str(element)
        return word if len(word) == 1 else f"{{{word}}}"
    return "#" if isinstance(signal, OnError) else "|"
