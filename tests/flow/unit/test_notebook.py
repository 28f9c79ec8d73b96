"""What a notebook shows of flows."""

from __future__ import annotations

import re

from penstock import Flow, IterablePublisher, ThreadPool, X
from penstock.testing import ManualPublisher, ManualSubscriber


def words(html: str) -> str:
    """The text of a picture."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_a_flow_is_drawn_with_what_runs_together_in_one_box() -> None:
    drawn = Flow.range(9).filter(X > 1).map(X + 1).named("numbers")._repr_html_()
    assert words(drawn) == "numbers range &rarr; filter map"
    assert drawn.count("border-radius") == 2


def test_a_flow_of_several_is_drawn_with_each_of_them() -> None:
    numbers = Flow.zip(Flow.range(9), IterablePublisher([1])).map(X[0])
    drawn = Flow.merge(Flow.of(1).filter(X > 1), numbers).enumerate()._repr_html_()
    inner = "range IterablePublisher &rarr; zip &rarr; map"
    assert words(drawn) == f"of &rarr; filter {inner} &rarr; merge &rarr; enumerate"


def test_where_a_part_runs_is_said_below_it() -> None:
    with ThreadPool(name="readers") as threads:
        drawn = Flow.range(9).publish_on(threads).map(X + 1)._repr_html_()
        assert "on " in words(drawn)
        assert "ThreadPool" in words(drawn) or "readers" in words(drawn)


def test_a_flow_with_a_hostile_name_is_no_markup() -> None:
    assert "<b>" not in Flow.of(1).named("<b>")._repr_html_()


def test_an_explanation_is_drawn_with_its_runs_and_their_edges() -> None:
    source, consumer = ManualPublisher[str](), ManualSubscriber[list[float]](request=2)
    flow = Flow.from_publisher(source).map(float).buffer(10).named("readings")
    flow.subscribe(consumer)
    source.next("21.5", "22.0")
    drawn = words(flow.explain()._repr_html_())
    assert drawn.startswith(
        "the flow readings from_publisher &rarr; map buffer run 1: from_publisher waits for its "
        "publisher, for "
    )
    assert "buffer → your subscriber 2 0" in drawn
    assert "its publisher → from_publisher 20 2 0 of 256" in drawn
    consumer.cancel()


def test_an_explanation_of_what_nobody_runs_says_so() -> None:
    assert words(Flow.range(3).explain()._repr_html_()) == "range nobody runs it now"
