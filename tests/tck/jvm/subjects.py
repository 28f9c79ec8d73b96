"""What the official kit judges and must pass: the reference, and a flow of each kind.

Each list is made in the process that runs the kit, threads and all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from penstock import (
    AsyncSubscriber,
    Broadcast,
    ExecutorPublisher,
    IdentityProcessor,
    IterablePublisher,
    Publisher,
    Subscription,
    SyncSubscriber,
    ThreadPool,
)
from penstock.flow import Flow
from penstock.runtime import Executor
from penstock.tck.jvm.official_kit import Subject, subject_of
from tests.flow.cases.asynchronous import within_a_loop

__all__ = ["flows", "from_java", "processors", "publishers", "subscribers", "to_java"]

CLAIMS: Final = {"explains_illegal_requests": True, "multicast": True}
SOON: Final = 0.001


def threads() -> ThreadPool:
    """A pool for one subject: the own kit controls threads that start under its eyes."""
    return ThreadPool(2)


def broken() -> Flow[Any]:
    return Flow.error(LookupError("the source is broken"))


class BrokenIterable:
    """An iterable that cannot be iterated."""

    def __iter__(self) -> Any:
        raise LookupError("the source is broken")


def publishers() -> dict[str, Subject]:
    """The publishers of the reference, and the broadcast as one."""

    def of(make: Callable[[Any], Publisher[Any]]) -> Subject:
        def failed() -> Publisher[Any]:
            return make(BrokenIterable())

        return subject_of("publisher", lambda n: make(range(n)), {**CLAIMS, "failed": failed})

    return {
        "IterablePublisher": of(IterablePublisher),
        "ExecutorPublisher": of(lambda elements: ExecutorPublisher(elements, threads())),
        "Broadcast of a source": of(lambda elements: Broadcast(source=IterablePublisher(elements))),
    }


class Noting:
    """A subscriber of the reference that notes what it is told.

    It asks for elements on its own. To ask for more without its knowledge would be wrong: it would
    take what comes for something that nobody has asked for.
    """

    def __init__(self, *executor: Executor) -> None:
        super().__init__(*executor)
        self.received: list[Any] = []
        self.is_done = False
        self.error: Exception | None = None

    def request(self, n: int) -> None:
        pass

    def receive(self, element: Any) -> bool:
        self.received.append(element)
        return True

    def failed(self, error: Exception) -> None:
        self.error = error

    def completed(self) -> None:
        self.is_done = True


class NotingSync(Noting, SyncSubscriber[Any]):
    """On the thread of the publisher."""

    subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        self.subscription = self.subscription or subscription
        super().on_subscribe(subscription)

    def cancel(self) -> None:
        assert self.subscription is not None
        if not self.is_done and self.error is None:  # 2.4
            self.subscription.cancel()


class NotingAsync(Noting, AsyncSubscriber[Any]):
    """On an executor."""

    def cancel(self) -> None:
        self.stop()


def to_java() -> dict[str, Subject]:
    """A flow that has crossed to Java, as a publisher of Java."""
    from penstock.bridges.jvm import to_jvm

    return {"to_jvm": _crossing(lambda flow: to_jvm(flow, "reactive-streams"))}


def from_java() -> dict[str, Subject]:
    """A flow that has crossed to Java and back."""
    from penstock.bridges.jvm import from_jvm, to_jvm

    return {"from_jvm": _crossing(lambda flow: from_jvm(to_jvm(flow)))}


def _crossing(cross: Callable[[Flow[Any]], Any]) -> Subject:
    return subject_of(
        "publisher",
        lambda n: cross(Flow.range(n)),
        {**CLAIMS, "failed": lambda: cross(broken())},
    )


def subscribers() -> dict[str, Subject]:
    """Each subscriber of the reference, from outside and from inside."""
    looking_in: dict[str, Any] = {
        "puppet": lambda subscriber: subscriber,
        "received": lambda subscriber: subscriber.received,
        "completed": lambda subscriber: subscriber.is_done,
        "failed": lambda subscriber: subscriber.error,
    }
    factories: dict[str, Callable[[], Any]] = {
        "SyncSubscriber": NotingSync,
        "AsyncSubscriber": lambda: NotingAsync(threads()),
    }
    outside = {name: subject_of("subscriber", make, {}) for name, make in factories.items()}
    inside = {
        f"{name}, whitebox": subject_of("subscriber", make, looking_in, whitebox=True)
        for name, make in factories.items()
    }
    return outside | inside


def processors() -> dict[str, Subject]:
    """The processors of the reference, on the calling thread and on others."""
    one = {"explains_illegal_requests": True, "cancels_upstream": True}
    all_of = {**CLAIMS, "cancels_upstream": True, "shuts_down_when_idle": True}
    return {
        "IdentityProcessor": subject_of("processor", IdentityProcessor, one),
        "IdentityProcessor on threads": subject_of(
            "processor", lambda: IdentityProcessor(executor=threads()), one
        ),
        "Broadcast": subject_of("processor", lambda: Broadcast(shuts_down_when_idle=True), all_of),
        "Broadcast on threads": subject_of(
            "processor",
            lambda: Broadcast(shuts_down_when_idle=True, newcomers="next", executor=threads()),
            all_of,
        ),
    }


def flows() -> dict[str, Subject]:
    """A flow of each kind."""

    async def same(x: int) -> int:
        return x

    def of(operate: Callable[[Flow[Any]], Flow[Any]]) -> Subject:
        return subject_of(
            "publisher",
            lambda n: operate(Flow.range(n)),
            {**CLAIMS, "failed": lambda: operate(broken())},
        )

    def unfused(flow: Flow[Any]) -> Flow[Any]:
        return Flow.from_publisher(flow).map(lambda x: x + 1)

    return {
        "fused": of(lambda flow: flow.map(lambda x: x + 1).filter(lambda x: x >= 0)),
        "unfused": of(unfused),
        "publish_on": of(lambda flow: flow.publish_on(threads())),
        "map_async": of(lambda flow: within_a_loop(flow.map_async(same, concurrency=2))),
        "share": of(lambda flow: flow.share()),
        "delay": of(lambda flow: flow.delay(SOON)),
    }
