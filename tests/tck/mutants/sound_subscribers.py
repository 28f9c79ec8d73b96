"""Subscribers that keep all rules, each written in another manner: none may be called broken."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from penstock.api import UNBOUNDED, Publisher, Subscription

POISON = "poison"


def require(argument: object) -> None:
    """Raise ``TypeError`` for a missing argument (rule 2.13)."""
    if argument is None:
        raise TypeError("None is no argument")


class OneByOne:
    """The plain one: asks for the next element when it has processed the last."""

    def __init__(self) -> None:
        self.subscription: Subscription | None = None
        self.elements: list[Any] = []
        self.done = False
        self.error: Exception | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self.subscription is not None:
            subscription.cancel()
            return
        self.subscription = subscription
        self.begin()

    def on_next(self, element: Any) -> None:
        require(element)
        if self.subscription is not None:
            self.process(element)
            self.go_on()

    def on_error(self, error: Exception) -> None:
        require(error)
        self.error = error
        self.subscription = None

    def on_complete(self) -> None:
        self.done = True
        self.subscription = None

    def begin(self) -> None:
        """Ask for the first elements."""
        self.request(1)

    def process(self, element: Any) -> None:
        """Work on an element."""
        self.elements.append(element)

    def go_on(self) -> None:
        """Ask for more after an element."""
        self.request(1)

    def request(self, n: int) -> None:
        """Ask for elements, unless the stream is over."""
        if self.subscription is not None:
            self.subscription.request(n)

    def cancel(self) -> None:
        """Cancel the stream, unless it is over."""
        subscription, self.subscription = self.subscription, None
        if subscription is not None:
            subscription.cancel()


class CollectsAll(OneByOne):
    """Asks for everything at once."""

    def begin(self) -> None:
        self.request(UNBOUNDED)

    def go_on(self) -> None:
        pass


class InBatches(OneByOne):
    """Asks for eight, and for four more whenever four have come."""

    def begin(self) -> None:
        self.request(8)

    def go_on(self) -> None:
        if len(self.elements) % 4 == 0:
            self.request(4)


class AsksBeforeItProcesses(OneByOne):
    """Asks for the next element first, which may arrive inside of that call."""

    def process(self, element: Any) -> None:
        self.request(1)
        super().process(element)

    def go_on(self) -> None:
        pass


class AsksTwice(OneByOne):
    """Makes two calls in a row, although the first may have ended the stream."""

    def begin(self) -> None:
        self.request(1)
        self.request(1)


class TakesThree(OneByOne):
    """Wants three elements, asks for all there are, and cancels."""

    def begin(self) -> None:
        self.request(UNBOUNDED)

    def process(self, element: Any) -> None:
        super().process(element)
        if len(self.elements) == 3:
            self.cancel()

    def go_on(self) -> None:
        pass


class TakesOne(OneByOne):
    """Wants a single element, and goes on calling what it has cancelled, which does no harm."""

    def on_next(self, element: Any) -> None:
        require(element)
        self.elements.append(element)
        if self.subscription is not None:
            self.subscription.cancel()
            self.subscription.cancel()


class WantsNothing(OneByOne):
    """Cancels as soon as it can."""

    def begin(self) -> None:
        self.cancel()


class SkipsWhatItCannotUse(OneByOne):
    """Lets its own failures pass and goes on."""

    def process(self, element: Any) -> None:
        try:
            super().process(element + 0)
        except TypeError:
            pass


class GivesUpAtItsOwnFailure(OneByOne):
    """Cancels when its own code fails."""

    def process(self, element: Any) -> None:
        try:
            super().process(element + 0)
        except TypeError as error:
            self.cancel()
            self.error = error


class Manual(OneByOne):
    """Asks for nothing unless its user does."""

    def begin(self) -> None:
        pass

    def go_on(self) -> None:
        pass


@dataclass
class AsData:
    """A dataclass: equal to any other of the same fields, and not hashable."""

    elements: list[Any] = field(default_factory=list)
    subscriptions: list[Subscription] = field(default_factory=list)
    done: bool = False
    error: Exception | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self.subscriptions:
            subscription.cancel()
        else:
            self.subscriptions.append(subscription)
            subscription.request(2)

    def on_next(self, element: Any) -> None:
        require(element)
        self.elements.append(element)
        self.subscriptions[0].request(1)

    def on_error(self, error: Exception) -> None:
        require(error)
        self.error = error

    def on_complete(self) -> None:
        self.done = True


class ByGenerator:
    """A generator does the work: it yields how many elements it wants, and is sent them."""

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self.done = False
        self._subscription: Subscription | None = None
        self._work = self._program()

    def _program(self) -> Generator[int, Any, None]:
        element = yield 1
        while True:
            self.elements.append(element)
            element = yield 1

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self._subscription is not None:
            subscription.cancel()
            return
        self._subscription = subscription
        subscription.request(next(self._work))

    def on_next(self, element: Any) -> None:
        require(element)
        wanted = self._work.send(element)
        assert self._subscription is not None
        self._subscription.request(wanted)

    def on_error(self, error: Exception) -> None:
        require(error)
        self.on_complete()

    def on_complete(self) -> None:
        self.done = True


def by_closures() -> Any:
    """Four functions in a namespace are a subscriber as well."""
    subscriptions: list[Subscription] = []
    elements: list[Any] = []

    def on_subscribe(subscription: Subscription) -> None:
        require(subscription)
        subscriptions.append(subscription)
        if len(subscriptions) > 1:
            subscription.cancel()
        else:
            subscription.request(3)

    def on_next(element: Any) -> None:
        require(element)
        elements.append(element)
        if len(elements) % 3 == 0:
            subscriptions[0].request(3)

    return SimpleNamespace(
        on_subscribe=on_subscribe,
        on_next=on_next,
        on_error=require,
        on_complete=lambda: None,
        elements=elements,
    )


class UnrelatedNames(OneByOne):
    """Has other methods that are named like signals, and calls its subscription in them."""

    class Listener:
        """Somebody else's idea of what these names mean."""

        def __init__(self, owner: UnrelatedNames) -> None:
            self._owner = owner

        def on_complete(self, whatever: str) -> None:
            """An element is complete, not the stream."""
            self._owner.request(1)

        def on_error(self, whatever: str) -> None:
            """An element was wrong; take another one."""
            self._owner.request(1)

        def on_next(self) -> None:
            """The next step."""
            self._owner.cancel()

    def go_on(self) -> None:
        listener = self.Listener(self)
        if len(self.elements) % 2:
            listener.on_complete("element")
        else:
            listener.on_error("element")


class JoinsByItself(OneByOne):
    """Knows its publisher."""

    def listen_to(self, publisher: Publisher[Any]) -> None:
        """Start."""
        self.publisher = publisher
        publisher.subscribe(self)


class JoinsAnother:
    """Knows its publisher, and subscribes another object in its place, a new one each time."""

    def __init__(self) -> None:
        self.inner: list[OneByOne] = []

    def listen_to(self, publisher: Publisher[Any]) -> None:
        """Start."""
        inner = self.Inner(self, publisher)
        self.inner.append(inner)
        publisher.subscribe(inner)

    class Inner(OneByOne):
        """Starts again after a failure, with a pause in between."""

        def __init__(self, outer: JoinsAnother, publisher: Publisher[Any]) -> None:
            super().__init__()
            self._outer = outer
            self._publisher = publisher

        def on_error(self, error: Exception) -> None:
            super().on_error(error)
            timer = threading.Timer(0.5, self._outer.listen_to, [self._publisher])
            timer.daemon = True
            timer.start()


class OnAThread:
    """Signals go through a queue to a thread of its own, terminal ones and all.

    So elements that came before the end are processed, and more requested, after its signal.
    """

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self.done = False
        self.error: Exception | None = None
        self._subscription: Subscription | None = None
        self._inbox: queue.Queue[Callable[[], object]] = queue.Queue()
        self._over = False
        threading.Thread(target=self._work, daemon=True).start()

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        self._inbox.put(lambda: self._begin(subscription))

    def on_next(self, element: Any) -> None:
        require(element)
        self._inbox.put(lambda: self._process(element))

    def on_error(self, error: Exception) -> None:
        require(error)
        self._inbox.put(lambda: self._end(error))

    def on_complete(self) -> None:
        self._inbox.put(lambda: self._end(None))

    def _work(self) -> None:
        while not self._over:
            self._inbox.get()()

    def _begin(self, subscription: Subscription) -> None:
        if self._subscription is not None:
            subscription.cancel()
            return
        self._subscription = subscription
        subscription.request(2)

    def _process(self, element: Any) -> None:
        self.elements.append(element)
        assert self._subscription is not None
        self._subscription.request(1)

    def _end(self, error: Exception | None) -> None:
        self.error = error
        self.done = error is None
        self._over = True


class OnAThreadThatDawdles(OnAThread):
    """Takes its time for each element, without holding up anybody."""

    def _process(self, element: Any) -> None:
        threading.Event().wait(0.01)
        super()._process(element)


class ByCondition:
    """A thread waits for elements on a condition; both sides share plain fields under its lock."""

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self._changed = threading.Condition()
        self._waiting: deque[Any] = deque()
        self._subscription: Subscription | None = None
        self._ended = False
        threading.Thread(target=self._work, daemon=True).start()

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        with self._changed:
            if self._subscription is None:
                self._subscription = subscription
                self._changed.notify()
                return
        subscription.cancel()

    def on_next(self, element: Any) -> None:
        require(element)
        with self._changed:
            self._waiting.append(element)
            self._changed.notify()

    def on_error(self, error: Exception) -> None:
        require(error)
        self.on_complete()

    def on_complete(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify()

    def _work(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._subscription or self._ended)
        self._ask(4)
        while (batch := self._next_batch()) is not None:
            self.elements.extend(batch)
            self._ask(len(batch))

    def _ask(self, n: int) -> None:
        with self._changed:
            subscription = None if self._ended else self._subscription
        if subscription is not None:
            subscription.request(n)

    def _next_batch(self) -> list[Any] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)
            batch = list(self._waiting)
            self._waiting.clear()
            return batch or None


class OnAPool(OnAThread):
    """One task of a pool for each signal; the pool has one worker, so they keep their order."""

    def __init__(self, pool: ThreadPoolExecutor | None = None) -> None:
        self.elements = []
        self.done = False
        self.error = None
        self._subscription = None
        self._over = False
        self._inbox = self._Tasks(pool or ThreadPoolExecutor(1))

    class _Tasks(queue.Queue[Callable[[], object]]):
        """Has the methods of a queue, and hands everything to a pool."""

        def __init__(self, pool: ThreadPoolExecutor) -> None:
            super().__init__()
            self._pool = pool

        def put(self, item: Callable[[], object], *_: Any) -> None:
            """Run it on the pool."""
            self._pool.submit(item)


class InParallel:
    """Processes elements on several threads, in any order; a lock orders its calls."""

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self._pool = ThreadPoolExecutor(3)
        self._calls = threading.Lock()
        self._subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self._subscription is not None:
            subscription.cancel()
        else:
            self._subscription = subscription
            self._pool.submit(self._ask, 3)

    def on_next(self, element: Any) -> None:
        require(element)
        self._pool.submit(self._process, element)

    def on_error(self, error: Exception) -> None:
        require(error)
        self.on_complete()

    def on_complete(self) -> None:
        self._pool.shutdown(wait=False)

    def _process(self, element: Any) -> None:
        self.elements.append(element)
        self._ask(1)

    def _ask(self, n: int) -> None:
        subscription = self._subscription
        with self._calls:
            if subscription is not None:
                subscription.request(n)


class Paced(OneByOne):
    """Asks for the next element a while after the last one, by a timer."""

    def go_on(self) -> None:
        timer = threading.Timer(0.01, self.request, [1])
        timer.daemon = True
        timer.start()


class OnALoop:
    """A task on an asyncio loop awaits the elements; the loop may be shared by many."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.elements: list[Any] = []
        self.done = False
        self.error: Exception | None = None
        self.loop = loop
        self._inbox: asyncio.Queue[Any] = asyncio.Queue()
        self._subscription: Subscription | None = None
        self._task: asyncio.Task[None] | None = None
        self._end = object()

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self._subscription is not None:
            subscription.cancel()
            return
        self._subscription = subscription
        self.loop.call_soon_threadsafe(self._start)

    def on_next(self, element: Any) -> None:
        require(element)
        self._leave(element)

    def on_error(self, error: Exception) -> None:
        require(error)
        self.error = error
        self._leave(self._end)

    def on_complete(self) -> None:
        self.done = True
        self._leave(self._end)

    def _leave(self, item: Any) -> None:
        self.loop.call_soon_threadsafe(self._inbox.put_nowait, item)

    def _start(self) -> None:
        self._task = self.loop.create_task(self._work())

    async def _work(self) -> None:
        assert self._subscription is not None
        self._subscription.request(2)
        while (element := await self._inbox.get()) is not self._end:
            self.elements.append(element)
            self._subscription.request(1)


class Pulled:
    """Keeps a few elements in store; its user takes them one at a time."""

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self._store: deque[Any] = deque()
        self._wanted = 0
        self._subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self._subscription is not None:
            subscription.cancel()
            return
        self._subscription = subscription
        subscription.request(2)

    def on_next(self, element: Any) -> None:
        require(element)
        self._store.append(element)
        self._take()

    def on_error(self, error: Exception) -> None:
        require(error)
        self.on_complete()

    def on_complete(self) -> None:
        self._subscription = None

    def request(self, n: int) -> None:
        """Take ``n`` elements, now or when they come."""
        self._wanted += n
        self._take()

    def cancel(self) -> None:
        """Take no more."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            subscription.cancel()

    def _take(self) -> None:
        while self._store and self._wanted:
            self._wanted -= 1
            self.elements.append(self._store.popleft())
            if self._subscription is not None:
                self._subscription.request(1)


class SteeredFromAnywhere:
    """Its user may call it from any thread; one thread alone calls the subscription."""

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self._subscription: Subscription | None = None
        self._orders: queue.SimpleQueue[Callable[[Subscription], None] | None]
        self._orders = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self._subscription is not None:
            self._orders.put(lambda _: subscription.cancel())
        self._subscription = self._subscription or subscription

    def on_next(self, element: Any) -> None:
        require(element)
        self.elements.append(element)

    def on_error(self, error: Exception) -> None:
        require(error)
        self.on_complete()

    def on_complete(self) -> None:
        self._subscription = None
        self._orders.put(None)

    def request(self, n: int) -> None:
        """Ask for ``n`` more, from any thread."""
        self._orders.put(lambda subscription: subscription.request(n))

    def cancel(self) -> None:
        """Stop, from any thread."""
        self._orders.put(lambda subscription: subscription.cancel())

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            subscription = self._subscription
            if subscription is not None:
                order(subscription)


class OneAtATimeForItsUser(Manual):
    """However much its user asks for, it requests one element at a time, a while later."""

    def __init__(self) -> None:
        super().__init__()
        self._wanted = 0
        self._asking = False

    def request(self, n: int) -> None:
        self._wanted += n
        self._ask_later()

    def go_on(self) -> None:
        self._asking = False
        self._ask_later()

    def _ask_later(self) -> None:
        if self._wanted and not self._asking:
            self._wanted -= 1
            self._asking = True
            timer = threading.Timer(0.05, super().request, [1])
            timer.daemon = True
            timer.start()


class Steering:
    """Controls that are an object of their own."""

    def __init__(self, subscriber: OneByOne) -> None:
        self._subscriber = subscriber

    def request(self, n: int) -> None:
        """Ask for ``n`` more."""
        assert self._subscriber.subscription is not None
        self._subscriber.subscription.request(n)

    def cancel(self) -> None:
        """Stop."""
        assert self._subscriber.subscription is not None
        self._subscriber.subscription.cancel()


def steering(subscriber: Manual) -> Steering | None:
    """The controls, as soon as there is something to control."""
    return None if subscriber.subscription is None else Steering(subscriber)


class OnALoopOfItsOwn:
    """Starts a thread with an asyncio loop for its stream, and ends both with it."""

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self.done = False
        self._begun = threading.Lock()
        self._inner: OnALoop | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if not self._begun.acquire(blocking=False):
            subscription.cancel()
            return
        ready = threading.Event()
        threading.Thread(target=asyncio.run, args=[self._work(ready)], daemon=True).start()
        ready.wait()
        assert self._inner is not None
        self._inner.on_subscribe(subscription)

    async def _work(self, ready: threading.Event) -> None:
        self._inner = OnALoop(asyncio.get_running_loop())
        self._inner.elements = self.elements
        self._ended = asyncio.Event()
        ready.set()
        await self._ended.wait()

    def on_next(self, element: Any) -> None:
        require(element)
        assert self._inner is not None
        self._inner.on_next(element)

    def on_error(self, error: Exception) -> None:
        require(error)
        self._end()

    def on_complete(self) -> None:
        self.done = True
        self._end()

    def _end(self) -> None:
        if self._inner is not None:
            self._inner.on_complete()
            self._inner.loop.call_soon_threadsafe(self._ended.set)


class AsAMonitor:
    """One reentrant lock around everything, whether the publisher calls or its own thread."""

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self._lock = threading.RLock()
        self._subscription: Subscription | None = None
        self._processed = threading.Semaphore(0)
        self._over = False
        threading.Thread(target=self._work, daemon=True).start()

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        with self._lock:
            if self._subscription is not None:
                subscription.cancel()
            else:
                self._subscription = subscription
                subscription.request(2)

    def on_next(self, element: Any) -> None:
        require(element)
        with self._lock:
            self.elements.append(element)
        self._processed.release()

    def on_error(self, error: Exception) -> None:
        require(error)
        self.on_complete()

    def on_complete(self) -> None:
        with self._lock:
            self._over = True
        self._processed.release()

    def _work(self) -> None:
        while self._processed.acquire():
            with self._lock:
                if self._over or self._subscription is None:
                    return
                self._subscription.request(1)


class LosesPatience(OneByOne):
    """Cancels when no element has come for half a second."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._moved = threading.Event()

    def begin(self) -> None:
        threading.Thread(target=self._watch, daemon=True).start()
        with self._lock:
            super().begin()

    def _watch(self) -> None:
        while self._moved.wait(0.5):
            self._moved.clear()
            if self.subscription is None:
                return
        with self._lock:
            self.cancel()

    def on_next(self, element: Any) -> None:
        self._moved.set()
        with self._lock:
            super().on_next(element)

    def on_error(self, error: Exception) -> None:
        with self._lock:
            super().on_error(error)
        self._moved.set()

    def on_complete(self) -> None:
        with self._lock:
            super().on_complete()
        self._moved.set()
