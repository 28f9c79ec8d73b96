"""Chapter 4: what our processors owe to both sides."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from penstock import UNBOUNDED, Broadcast, IdentityProcessor, IterablePublisher
from penstock.api import Processor
from penstock.rules import RuleViolation
from penstock.runtime import VirtualTime
from tests.rules.parties import NOTHING, Recorder, Source, SpySubscription, failing_after
from tests.rules.subjects import Engine

PROCESSORS: dict[str, Callable[..., Any]] = {"identity": IdentityProcessor, "broadcast": Broadcast}
EVERY_PROCESSOR = pytest.mark.parametrize("make", PROCESSORS.values(), ids=list(PROCESSORS))

# 4.1


@EVERY_PROCESSOR
def test_rule_4_01_a_processor_is_a_subscriber_and_a_publisher(make: Callable[..., Any]) -> None:
    processor = make()
    assert isinstance(processor, Processor)
    with pytest.raises(TypeError, match=r"rule 1\.9"):
        processor.subscribe(NOTHING)
    for signal in ("on_subscribe", "on_next", "on_error"):
        with pytest.raises(TypeError, match=r"rule 2\.13"):
            getattr(processor, signal)(NOTHING)


@pytest.mark.parametrize(
    "upstream_first", [True, False], ids=["upstream first", "downstream first"]
)
@EVERY_PROCESSOR
def test_rule_4_01_it_does_not_matter_which_side_is_joined_first(
    make: Callable[..., Any], upstream_first: bool, engine: Engine
) -> None:
    processor, recorder = make(2, executor=engine.executor), Recorder(UNBOUNDED)
    joins = [
        lambda: IterablePublisher(range(20)).subscribe(processor),
        lambda: processor.subscribe(recorder),
    ]
    for join in joins if upstream_first else reversed(joins):
        join()
        engine.settle()
    assert recorder.elements == list(range(20))
    assert recorder.completed
    assert recorder.faults == []


@pytest.mark.parametrize("capacity", [1, 2, 3, 4, 5, 7, 100])
@EVERY_PROCESSOR
def test_rule_4_01_demand_passes_through_and_is_bounded_by_the_capacity(
    make: Callable[..., Any], capacity: int
) -> None:
    processor, recorder, spy = make(capacity), Recorder(), SpySubscription()
    processor.subscribe(recorder)
    processor.on_subscribe(spy)
    assert spy.calls == []  # nobody asked
    for sent in range(60):
        while recorder.requested <= sent:
            recorder.request(3)
        assert sent < spy.requested <= min(recorder.requested, sent + capacity)
        processor.on_next(sent)
    assert recorder.elements == list(range(60))
    assert recorder.faults == []


@EVERY_PROCESSOR
def test_rule_4_01_unbounded_demand_is_asked_for_in_portions(make: Callable[..., Any]) -> None:
    processor, recorder, spy = make(8), Recorder(UNBOUNDED), SpySubscription()
    processor.subscribe(recorder)
    processor.on_subscribe(spy)
    for element in range(20):
        processor.on_next(element)
    assert spy.calls == ["request(8)", "request(6)", "request(6)", "request(6)"]


@EVERY_PROCESSOR
def test_rule_4_01_signals_before_on_subscribe_end_the_stream(make: Callable[..., Any]) -> None:
    for signal, arguments in (("on_next", [0]), ("on_error", [OSError()]), ("on_complete", [])):
        processor, recorder, late = make(), Recorder(UNBOUNDED), SpySubscription()
        processor.subscribe(recorder)
        getattr(processor, signal)(*arguments)
        assert isinstance(recorder.error, RuleViolation)
        assert recorder.error.rule.number == "1.9"
        processor.on_subscribe(late)
        assert late.calls == ["cancel"]


# 4.2


@pytest.mark.parametrize("k", range(6))
@EVERY_PROCESSOR
def test_rule_4_02_an_error_passes_after_any_element(make: Callable[..., Any], k: int) -> None:
    processor, recorder, error = make(4), Recorder(UNBOUNDED), OSError("gone")
    processor.subscribe(recorder)
    IterablePublisher(failing_after(range(k), error)).subscribe(processor)
    assert recorder.elements == list(range(k))
    assert recorder.error is error
    assert recorder.faults == []


@EVERY_PROCESSOR
def test_rule_4_02_an_error_does_not_wait_for_elements(make: Callable[..., Any]) -> None:
    time, error = VirtualTime(), OSError("gone")
    processor, recorder, spy = make(4, executor=time), Recorder(UNBOUNDED), SpySubscription()
    processor.subscribe(recorder)
    processor.on_subscribe(spy)
    time.settle()
    for element in range(4):
        processor.on_next(element)
    processor.on_error(error)
    time.settle()
    assert recorder.signals == ["on_subscribe", "on_error"]
    assert recorder.error is error
    assert spy.calls == ["request(4)"]  # 2.3, 2.4


def test_rule_4_02_an_error_passes_a_full_broadcast_without_demand() -> None:
    hub, recorder, error = Broadcast[int](4, eager=True), Recorder(), OSError("gone")
    hub.subscribe(recorder)
    hub.on_subscribe(SpySubscription())
    for element in range(4):
        hub.on_next(element)
    hub.on_error(error)
    assert recorder.signals == ["on_subscribe", "on_error"]
    assert recorder.error is error


@EVERY_PROCESSOR
def test_rule_4_02_an_error_that_came_first_waits_for_the_subscriber(
    make: Callable[..., Any],
) -> None:
    processor, recorder, error = make(), Recorder(UNBOUNDED), OSError("gone")
    processor.on_subscribe(SpySubscription())
    processor.on_error(error)
    processor.subscribe(recorder)
    assert recorder.signals == ["on_subscribe", "on_error"]
    assert recorder.error is error


@EVERY_PROCESSOR
def test_rule_4_02_after_an_error_upstream_counts_as_cancelled(
    make: Callable[..., Any],
) -> None:
    processor, recorder, spy = make(), Recorder(3), SpySubscription()
    processor.subscribe(recorder)
    processor.on_subscribe(spy)
    processor.on_error(OSError("gone"))
    recorder.request(5)
    recorder.cancel()
    processor.on_next(0)
    assert spy.calls == ["request(3)"]
    assert recorder.elements == []


@EVERY_PROCESSOR
def test_rule_4_02_a_failing_source_fails_a_whole_chain(make: Callable[..., Any]) -> None:
    stages, recorder = [make(2) for _ in range(5)], Recorder(UNBOUNDED)
    source = Source(range(3), OSError("gone"))
    stages[-1].subscribe(recorder)
    for upstream, downstream in reversed(list(pairwise(stages))):
        upstream.subscribe(downstream)
    IterablePublisher(source).subscribe(stages[0])
    assert recorder.elements == [0, 1, 2]
    assert recorder.error is source.error
    assert source.closed == 1
