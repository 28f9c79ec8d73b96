"""``Flow.using``: when a resource is entered and left, and where its own errors go."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

import pytest

from penstock import Flow, IterablePublisher, ThreadPool
from penstock.tck import verify_publisher
from penstock.testing import ManualPublisher, ManualSubscriber, collect_undelivered


class Resource:
    """Writes down what happens to it; entering it gives the number 10."""

    def __init__(self, *, fails_on_enter: bool = False, fails_on_exit: bool = False) -> None:
        self.events: list[str] = []
        self._fails_on_enter = fails_on_enter
        self._fails_on_exit = fails_on_exit

    def __enter__(self) -> int:
        if self._fails_on_enter:
            raise OSError("cannot open")
        self.events.append("entered")
        return 10

    def __exit__(
        self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None
    ) -> None:
        self.events.append(f"left with {'nothing' if kind is None else kind.__name__}")
        if self._fails_on_exit:
            raise OSError("cannot close")


class Closing(ManualSubscriber[Any]):
    """A subscriber that writes down the end of the stream among the events of a resource."""

    def __init__(self, resource: Resource) -> None:
        super().__init__(request=9)
        self._resource = resource

    def on_complete(self) -> None:
        self._resource.events.append("completed")
        super().on_complete()

    def on_error(self, error: Exception) -> None:
        self._resource.events.append("failed")
        super().on_error(error)


SOURCES: Any = Flow
"""For what a type checker would refuse."""


def numbers(resource: Resource) -> Flow[int]:
    return Flow.using(lambda: resource, lambda ten: Flow.of(ten, ten + 1))


def test_a_resource_is_left_before_the_completion_is_signalled() -> None:
    resource = Resource()
    subscriber = Closing(resource)
    numbers(resource).subscribe(subscriber)
    subscriber.assert_elements(10, 11)
    assert resource.events == ["entered", "left with nothing", "completed"]


def test_a_resource_is_left_with_the_error_before_that_is_signalled() -> None:
    resource = Resource()
    subscriber = Closing(resource)
    Flow.using(lambda: resource, lambda ten: Flow.of(ten).map(lambda x: x // 0)).subscribe(
        subscriber
    )
    subscriber.assert_failed(ZeroDivisionError)
    assert resource.events == ["entered", "left with ZeroDivisionError", "failed"]


@pytest.mark.parametrize("requested", [0, 1])
def test_a_resource_is_left_on_cancel(requested: int) -> None:
    resource = Resource()
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=requested)
    numbers(resource).subscribe(subscriber)
    assert resource.events == ["entered"]
    subscriber.cancel()
    assert resource.events == ["entered", "left with GeneratorExit"]


def test_a_resource_is_left_when_a_later_operator_has_enough() -> None:
    resource = Resource()
    assert numbers(resource).take(1).run_sync() == 10
    assert resource.events == ["entered", "left with GeneratorExit"]


def test_a_resource_is_left_when_a_later_operator_fails() -> None:
    resource = Resource()
    with pytest.raises(ZeroDivisionError):
        numbers(resource).map(lambda x: x // 0).run_sync()
    assert resource.events == ["entered", "left with GeneratorExit"]


def test_the_publisher_is_cancelled_before_its_resource_is_left() -> None:
    resource = Resource()
    publisher: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    Flow.using(lambda: resource, lambda ten: publisher).subscribe(subscriber)
    publisher.next(1)
    subscriber.cancel()
    assert publisher.cancelled
    assert resource.events == ["entered", "left with GeneratorExit"]


def test_each_subscriber_has_a_resource_of_its_own() -> None:
    made: list[Resource] = []

    def make() -> Resource:
        made.append(Resource())
        return made[-1]

    flow = Flow.using(make, Flow.of)
    assert made == []
    flow.run_sync()
    flow.run_sync()
    assert [resource.events for resource in made] == [["entered", "left with nothing"]] * 2


def test_a_resource_that_cannot_be_closed_fails_the_stream_after_its_elements() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=2)
    numbers(Resource(fails_on_exit=True)).subscribe(subscriber)
    subscriber.assert_elements(10, 11)
    subscriber.assert_failed(OSError, match="cannot close")
    assert error_names_using(subscriber.error)


def test_a_resource_that_cannot_be_closed_after_an_error_keeps_that_as_context() -> None:
    resource = Resource(fails_on_exit=True)
    with pytest.raises(OSError, match="cannot close") as caught:
        Flow.using(lambda: resource, lambda ten: Flow.error(KeyError())).run_sync()
    assert isinstance(caught.value.__context__, KeyError)


def test_a_resource_that_cannot_be_closed_on_cancel_troubles_the_hook() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    numbers(Resource(fails_on_exit=True)).subscribe(subscriber)
    with collect_undelivered() as lost:
        subscriber.cancel()
    assert [str(each.error) for each in lost] == ["cannot close"]
    subscriber.assert_not_ended()


def test_a_resource_that_cannot_be_opened_fails_the_stream() -> None:
    resource = Resource(fails_on_enter=True)
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    numbers(resource).subscribe(subscriber)
    subscriber.assert_failed(OSError, match="cannot open")
    assert error_names_using(subscriber.error)
    assert resource.events == []


def test_a_resource_is_left_when_no_publisher_can_be_made_of_it() -> None:
    resource = Resource()
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    flow: Flow[int] = Flow.using(lambda: resource, lambda ten: Flow.of(ten // 0))
    flow.subscribe(subscriber)
    subscriber.assert_failed(ZeroDivisionError)
    assert error_names_using(subscriber.error)
    assert resource.events == ["entered", "left with ZeroDivisionError"]


def test_a_context_manager_that_keeps_an_error_to_itself_completes_the_flow() -> None:
    flow = Flow.using(lambda: suppress(KeyError), lambda _: Flow.error(KeyError()))
    assert flow.to_list().run_sync() == []


def test_a_context_manager_may_also_keep_an_error_in_making_the_publisher() -> None:
    def fail(_: object) -> Flow[int]:
        raise KeyError

    assert Flow.using(lambda: suppress(KeyError), fail).to_list().run_sync() == []


@pytest.mark.parametrize(
    ("resource", "publisher", "words"),
    [
        (5, Flow.empty(), "using needs a context manager, not 5"),
        (Resource(), 5, "using needs a publisher, not 5"),
    ],
)
def test_a_factory_that_returns_something_else_fails_the_stream(
    resource: Any, publisher: Any, words: str
) -> None:
    with pytest.raises(TypeError, match=words):
        Flow.using(lambda: resource, lambda _: publisher).run_sync()


@pytest.mark.parametrize(
    "assemble",
    [
        lambda: SOURCES.using(Resource(), lambda _: Flow.empty()),
        lambda: SOURCES.using(Resource, Flow.empty()),
    ],
    ids=["resource", "flow"],
)
def test_what_is_no_function_is_refused_at_assembly(assemble: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match="using needs a function"):
        assemble()


def test_a_resource_of_a_flow_on_other_threads_is_left_at_the_end() -> None:
    resource = Resource()
    with ThreadPool(2) as threads:
        flow = Flow.using(lambda: resource, lambda _: Flow.range(1_000).publish_on(threads))
        assert flow.publish_on(threads).to_list().run_sync() == list(range(1_000))
    assert resource.events == ["entered", "left with nothing"]


@pytest.mark.parametrize(
    "inner", [Flow.range, lambda n: IterablePublisher(range(n))], ids=["flow", "publisher"]
)
@pytest.mark.full
def test_using_keeps_the_rules(inner: Callable[[int], Any]) -> None:
    verify_publisher(
        lambda n: Flow.using(Resource, lambda _: inner(n)),
        failed=lambda: Flow.using(Resource, lambda _: Flow.error(OSError())),
        unclosable=lambda: numbers(Resource(fails_on_exit=True)),
        completes_eagerly=True,
        repeatable=True,
    ).raise_if_failed()


def error_names_using(error: Exception | None) -> bool:
    return [note.startswith("in using, ") for note in getattr(error, "__notes__", [])] == [True]
