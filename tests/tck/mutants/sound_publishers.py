"""Publishers that keep the rules, each written in a manner of its own: the kit must pass them all.

None of them uses anything of Penstock. What they have in common is the names of the standard.
"""

from __future__ import annotations

import asyncio
import itertools
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from time import sleep as pause
from types import SimpleNamespace
from typing import Any

BOOM = "the source is broken"


def require(subscriber: Any) -> None:
    if subscriber is None:
        raise TypeError("there is no subscriber")


def numbers(n: int) -> Iterator[int]:
    yield from range(n)


def breaking(n: int) -> Iterator[int]:
    yield from range(n)
    raise LookupError(BOOM)


class Generating:
    """A loop over a generator on the calling thread; completes only when demand is left."""

    def __init__(self, n: int, source: Callable[[int], Iterator[int]] = numbers) -> None:
        self.n = n
        self.source = source

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        Generation(subscriber, self.source(self.n)).start()


class Generation:
    def __init__(self, subscriber: Any, source: Iterator[int]) -> None:
        self.subscriber = subscriber
        self.source = source
        self.demand = 0
        self.error: Exception | None = None
        self.running = True

    def start(self) -> None:
        try:
            self.subscriber.on_subscribe(self)
        except Exception:
            self.subscriber = None
        self.running = False
        self.run()

    def request(self, n: int) -> None:
        if n > 0:
            self.demand += n
        else:
            self.error = ValueError(f"{n} elements cannot be requested")
        self.run()

    def cancel(self) -> None:
        self.subscriber = None

    def run(self) -> None:
        if not self.running:
            self.running = True
            while (subscriber := self.subscriber) is not None and (self.demand or self.error):
                try:
                    self.step(subscriber)
                except Exception:
                    self.subscriber = None
            self.running = False

    def step(self, subscriber: Any) -> None:
        if self.error is not None:
            self.subscriber = None
            subscriber.on_error(self.error)
            return
        self.demand -= 1
        try:
            element = next(self.source)
        except StopIteration:
            self.subscriber = None
            subscriber.on_complete()
        except Exception as error:
            self.subscriber = None
            subscriber.on_error(error.with_traceback(None))
        else:
            subscriber.on_next(element)


class Strict(Generating):
    """Relies on rule 2.7, by which no two threads call request at the same time."""

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        StrictGeneration(subscriber, self.source(self.n)).start()


class StrictGeneration(Generation):
    caller: int | None = None

    def request(self, n: int) -> None:
        me, outer = threading.get_ident(), self.caller
        if outer not in (None, me):
            raise RuntimeError("two threads call request at the same time")
        self.caller = me
        super().request(n)
        self.caller = outer


class Functions:
    """No class for the subscription, only functions and a dict; sends from within request."""

    def __init__(self, n: int) -> None:
        self.n = n

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        to, source = [subscriber], iter(range(self.n))
        state = {"to": to, "source": source, "left": self.n, "requests": deque(), "busy": True}
        subscription = SimpleNamespace(request=partial(ask, state), cancel=to.clear)
        tell(state, "on_subscribe", subscription)
        state["busy"] = False
        serve(state)


def ask(state: dict[str, Any], n: int) -> None:
    state["requests"].append(n)
    serve(state)


def serve(state: dict[str, Any]) -> None:
    if state["busy"]:
        return
    state["busy"] = True
    while state["requests"] and state["to"]:
        n = state["requests"].popleft()
        if n <= 0:
            tell(state, "on_error", ValueError("not a positive number"))
        for element in itertools.islice(state["source"], max(min(n, state["left"]), 0)):
            state["left"] -= 1
            tell(state, "on_next", element)
            if not state["to"]:
                break
    if not state["left"]:
        tell(state, "on_complete")
    state["busy"] = False


def tell(state: dict[str, Any], signal: str, *arguments: object) -> None:
    for subscriber in state["to"][:]:
        if signal in ("on_error", "on_complete"):
            state["to"].clear()
        try:
            getattr(subscriber, signal)(*arguments)
        except Exception:
            state["to"].clear()


class Nesting:
    """Calls on_next from within request from within on_next, but not deeper than eight levels."""

    def __init__(self, n: int) -> None:
        self.n = n

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        Nest(subscriber, self.n).open()


class Nest:
    def __init__(self, subscriber: Any, n: int) -> None:
        self.subscriber = subscriber
        self.sent, self.n = 0, n
        self.demand = self.depth = 0
        self.error: Exception | None = None
        self.ending = threading.Lock()

    def open(self) -> None:
        self.depth = 8
        self.call(self.subscriber, "on_subscribe", self)
        self.depth = 0
        self.send()

    def call(self, subscriber: Any, signal: str, *arguments: object) -> None:
        try:
            getattr(subscriber, signal)(*arguments)
        except Exception:
            self.subscriber = None

    def request(self, n: int) -> None:
        if n > 0:
            self.demand += n
        else:
            self.error = ValueError("request more than that")
        self.send()

    def cancel(self) -> None:
        self.subscriber = None

    def end(self, signal: str, *arguments: object) -> None:
        with self.ending:
            subscriber, self.subscriber = self.subscriber, None
        if subscriber is not None:
            self.call(subscriber, signal, *arguments)

    def send(self) -> None:
        if self.depth >= 8:
            return
        self.depth += 1
        while (subscriber := self.subscriber) is not None:
            if self.error is not None:
                self.end("on_error", self.error)
            elif self.sent == self.n:
                self.end("on_complete")
            elif self.demand:
                self.demand -= 1
                self.sent += 1
                self.call(subscriber, "on_next", self.sent)
            else:
                break
        self.depth -= 1


class Waiting:
    """A thread for each subscription, which waits on a condition; on_subscribe comes from it."""

    rests: float = 0.0

    def __init__(self, n: int, source: Callable[[int], Iterator[int]] = numbers) -> None:
        self.n = n
        self.source = source

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        desk = Desk()
        arguments = (desk, subscriber, self.source(self.n), self.rests)
        threading.Thread(target=wait_and_send, args=arguments, daemon=True).start()


class Sleeping(Waiting):
    """The same, with a source that takes its time."""

    rests = 0.01


class Desk:
    """Where requests are left for the thread."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.demand = 0
        self.illegal = False
        self.cancelled = False

    def request(self, n: int) -> None:
        with self.changed:
            if n > 0:
                self.demand += n
            else:
                self.illegal = True
            self.changed.notify()

    def cancel(self) -> None:
        with self.changed:
            self.cancelled = True
            self.changed.notify()

    def take(self) -> str:
        with self.changed:
            self.changed.wait_for(lambda: self.demand or self.illegal or self.cancelled)
            if self.cancelled or self.illegal:
                return "cancelled" if self.cancelled else "illegal"
            self.demand -= 1
            return "go on"


def wait_and_send(desk: Desk, subscriber: Any, source: Iterator[int], rests: float) -> None:
    # What the subscriber raises ends the thread, and with it the stream.
    subscriber.on_subscribe(desk)
    while (word := desk.take()) == "go on":
        pause(rests)
        try:
            element = next(source, None)
        except Exception as error:
            subscriber.on_error(error)
            return
        if element is None:
            subscriber.on_complete()
            return
        subscriber.on_next(element)
    if word == "illegal":
        subscriber.on_error(ValueError("request(n) needs n > 0"))


class Mailbox:
    """An actor: one thread for the publisher, which takes messages out of a queue."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.messages: queue.Queue[tuple[Any, ...]] = queue.Queue()
        self.started = False

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        self.messages.put(("subscribe", subscriber))
        if not self.started:
            self.started = True
            threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        streams: dict[int, SimpleNamespace] = {}
        for number in itertools.count():
            message, *arguments = self.messages.get()
            if message == "subscribe":
                streams[number] = self.open(number, arguments[0])
            else:
                key, *rest = arguments
                if key in streams:
                    getattr(self, message)(streams, key, *rest)
            for key in [key for key, stream in streams.items() if stream.over]:
                del streams[key]
            arguments = []  # they refer to a subscriber

    def open(self, key: int, subscriber: Any) -> SimpleNamespace:
        put = self.messages.put
        stream = SimpleNamespace(subscriber=subscriber, sent=0, over=False)
        subscription = SimpleNamespace(
            request=lambda n: put(("request", key, n)), cancel=lambda: put(("cancel", key))
        )
        self.tell(stream, "on_subscribe", subscription)
        return stream

    def tell(self, stream: SimpleNamespace, signal: str, *arguments: object) -> None:
        try:
            getattr(stream.subscriber, signal)(*arguments)
        except Exception:
            stream.over = True

    def request(self, streams: dict[int, SimpleNamespace], key: int, n: int) -> None:
        stream = streams[key]
        if n <= 0:
            stream.over = True
            self.tell(stream, "on_error", ValueError("too little"))
        elif stream.sent == self.n:
            stream.over = True
            self.tell(stream, "on_complete")
        else:
            stream.sent += 1
            self.tell(stream, "on_next", stream.sent)
            if n > 1 and not stream.over:
                self.messages.put(("request", key, n - 1))

    def cancel(self, streams: dict[int, SimpleNamespace], key: int) -> None:
        streams[key].over = True


class Pooled:
    """Each signal is a task of an executor that has one thread."""

    def __init__(self, n: int, executor: Executor | None = None) -> None:
        self.n = n
        self.executor = executor or ThreadPoolExecutor(1)

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        PooledStream(subscriber, self.executor, iter(range(self.n))).submit("open")


class PooledStream:
    def __init__(self, subscriber: Any, executor: Executor, source: Iterator[int]) -> None:
        self.subscriber = subscriber
        self.executor = executor
        self.source = source
        self.demand = 0

    def submit(self, task: str, *arguments: object) -> None:
        self.executor.submit(self.run, task, *arguments)

    def run(self, task: str, *arguments: Any) -> None:
        if self.subscriber is not None:
            try:
                getattr(self, task)(*arguments)
            except Exception:
                self.subscriber = None

    def request(self, n: int) -> None:
        self.submit("add", n)

    def cancel(self) -> None:
        self.submit("close")

    # What runs on the thread of the executor.

    def open(self) -> None:
        self.subscriber.on_subscribe(self)

    def close(self) -> None:
        self.subscriber = None

    def add(self, n: int) -> None:
        if n <= 0:
            subscriber, self.subscriber = self.subscriber, None
            subscriber.on_error(ValueError(f"{n} is not above zero"))
            return
        idle, self.demand = not self.demand, self.demand + n
        if idle:
            self.submit("send")

    def send(self) -> None:
        for element in self.source:
            self.demand -= 1
            self.subscriber.on_next(element)
            if self.demand:
                self.submit("send")
            return
        subscriber, self.subscriber = self.subscriber, None
        subscriber.on_complete()


class Batching:
    """An inbox for each subscription, emptied by whichever thread of a pool has its turn."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.executor = ThreadPoolExecutor(2)

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        Inbox(subscriber, self.executor, iter(range(self.n))).put("open", 0)


class Inbox:
    def __init__(self, subscriber: Any, executor: Executor, source: Iterator[int]) -> None:
        self.subscriber = subscriber
        self.executor = executor
        self.source = source
        self.demand = 0
        self.cancelled = False
        self.messages: deque[tuple[str, int]] = deque()
        self.turn = threading.Lock()

    def request(self, n: int) -> None:
        self.put("add", n)

    def cancel(self) -> None:
        self.put("stop", 0)

    def put(self, message: str, n: int) -> None:
        self.messages.append((message, n))
        self.schedule()

    def schedule(self) -> None:
        if self.messages and not self.cancelled and self.turn.acquire(blocking=False):
            self.executor.submit(self.work)

    def work(self) -> None:
        try:
            if self.messages and not self.cancelled:
                message, n = self.messages.popleft()
                getattr(self, message)(n)
        except Exception:
            self.stop(0)
        finally:
            self.turn.release()
            self.schedule()

    def open(self, n: int) -> None:
        self.subscriber.on_subscribe(self)

    def stop(self, n: int) -> None:
        self.cancelled = True
        self.subscriber = None

    def add(self, n: int) -> None:
        if n <= 0:
            subscriber = self.subscriber
            self.stop(n)
            subscriber.on_error(ValueError(f"request({n})"))
        else:
            self.demand += n
            self.send(n)

    def send(self, n: int) -> None:
        for _ in range(min(10, self.demand)):
            element = next(self.source, None)
            if element is None:
                subscriber = self.subscriber
                self.stop(n)
                subscriber.on_complete()
                return
            self.demand -= 1
            self.subscriber.on_next(element)
        if self.demand:
            self.put("send", n)


class Threads:
    """The subscription is a thread."""

    def __init__(self, n: int) -> None:
        self.n = n

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        Runner(subscriber, self.n).start()


class Runner(threading.Thread):
    def __init__(self, subscriber: Any, n: int) -> None:
        super().__init__(daemon=True)
        self.subscriber = subscriber
        self.n = n
        self.wishes: queue.SimpleQueue[int | None] = queue.SimpleQueue()

    def request(self, n: int) -> None:
        self.wishes.put(n)

    def cancel(self) -> None:
        self.wishes.put(None)

    def run(self) -> None:
        try:
            self.serve()
        finally:
            self.subscriber = None

    def serve(self) -> None:
        self.subscriber.on_subscribe(self)
        demand = sent = 0
        while True:
            while not demand or not self.wishes.empty():
                wish = self.wishes.get()
                if wish is None:
                    return
                if wish <= 0:
                    self.subscriber.on_error(ValueError(wish))
                    return
                demand += wish
            if sent == self.n:
                self.subscriber.on_complete()
                return
            demand, sent = demand - 1, sent + 1
            self.subscriber.on_next(sent)


class Ticking:
    """A timer for each element, five milliseconds apart."""

    def __init__(self, n: int) -> None:
        self.n = n

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        Clockwork(subscriber, self.n).start()


class Clockwork:
    def __init__(self, subscriber: Any, n: int) -> None:
        self.subscriber = subscriber
        self.left = n
        self.demand = 0
        self.error: Exception | None = None
        self.ticks = True
        self.lock = threading.Lock()

    def start(self) -> None:
        try:
            self.subscriber.on_subscribe(self)
        except Exception:
            self.subscriber = None
        self.ticks = False
        self.wind()

    def request(self, n: int) -> None:
        with self.lock:
            if n > 0:
                self.demand += n
            else:
                self.error = ValueError("a stream cannot flow backwards")
        self.wind()

    def cancel(self) -> None:
        self.subscriber = None

    def wind(self) -> None:
        with self.lock:
            needed = self.demand or self.error or not self.left
            if self.ticks or not needed or self.subscriber is None:
                return
            self.ticks = True
        timer = threading.Timer(0.005, self.tick)
        timer.daemon = True
        timer.start()

    def tick(self) -> None:
        subscriber = self.subscriber
        if subscriber is not None:
            try:
                self.signal(subscriber)
            except Exception:
                self.subscriber = None
        with self.lock:
            self.ticks = False
        self.wind()

    def signal(self, subscriber: Any) -> None:
        if self.error is not None:
            self.subscriber = None
            subscriber.on_error(self.error)
        elif not self.left:
            self.subscriber = None
            subscriber.on_complete()
        else:
            self.left -= 1
            with self.lock:
                self.demand -= 1
            subscriber.on_next(self.left)


class Polling:
    """A thread that polls for demand every 20 milliseconds; refuses a second subscriber."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.taken = threading.Lock()

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        if self.taken.acquire(blocking=False):
            threading.Thread(target=self.poll, args=(subscriber,), daemon=True).start()
        else:
            subscription = SimpleNamespace(request=lambda n: None, cancel=lambda: None)
            try:
                subscriber.on_subscribe(subscription)
                subscriber.on_error(RuntimeError("there is one subscriber already"))
            except Exception:
                pass

    def poll(self, subscriber: Any) -> None:
        requests: deque[int] = deque()
        cancelled = threading.Event()
        subscriber.on_subscribe(SimpleNamespace(request=requests.append, cancel=cancelled.set))
        demand, source = 0, iter(range(self.n))
        while not cancelled.wait(0.0 if demand else 0.02):
            while requests:
                n = requests.popleft()
                if n <= 0:
                    subscriber.on_error(ValueError("0 is too little"))
                    return
                demand += n
            if demand:
                demand -= 1
                for element in source:
                    subscriber.on_next(element)
                    break
                else:
                    subscriber.on_complete()
                    return


class Chunking(Generating):
    """Sends sixteen elements at a time without a check; some still come after a cancel."""

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        Chunks(subscriber, self.source(self.n)).start()


class Chunks(Generation):
    def step(self, subscriber: Any) -> None:
        size = min(self.demand, 16) if self.error is None else 0
        chunk = list(itertools.islice(self.source, size))
        self.demand -= len(chunk)
        for element in chunk:
            subscriber.on_next(element)
        if not chunk:
            super().step(subscriber)


class Coroutine:
    """A generator that is resumed when there may be something to do, on the calling thread."""

    def __init__(self, n: int) -> None:
        self.n = n

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        messages: deque[int | None] = deque()
        routine = coroutine(subscriber, messages, range(self.n))
        busy = threading.Lock()

        def resume() -> None:
            while messages and busy.acquire(blocking=False):
                try:
                    next(routine)
                except Exception:
                    messages.clear()  # it is over, and takes no more of them
                finally:
                    busy.release()

        def put(message: int | None) -> None:
            messages.append(message)
            resume()

        with busy:
            try:
                subscriber.on_subscribe(SimpleNamespace(request=put, cancel=lambda: put(None)))
            except Exception:
                routine.close()
        resume()


def coroutine(
    subscriber: Any, messages: deque[int | None], elements: range
) -> Generator[None, None, None]:
    source, demand = iter(elements), 0
    while True:
        while messages:
            message = messages.popleft()
            if message is None:
                return
            if message <= 0:
                subscriber.on_error(ValueError("positive numbers only"))
                return
            demand += message
        if not demand:
            yield
            continue
        demand -= 1
        for element in source:
            subscriber.on_next(element)
            break
        else:
            subscriber.on_complete()
            return


class Endless:
    """Counts for ever, however many elements were asked of the factory."""

    def __init__(self, n: int) -> None:
        self.stream = Generating(n, lambda _: itertools.count())

    def subscribe(self, subscriber: Any) -> None:
        self.stream.subscribe(subscriber)


class Choir:
    """Sends each element to all subscribers at once, when all have asked for it."""

    def __init__(self, n: int) -> None:
        self.source = iter(range(n))
        self.left = n
        self.lock = threading.RLock()
        self.voices: list[Voice] = []
        self.singing = False

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        with self.lock:
            voice = Voice(self, subscriber)
            self.voices.append(voice)
            voice.tell("on_subscribe", voice)
            voice.waits = False
            self.sing()
        self.go_on_without_those_who_left()

    def go_on_without_those_who_left(self) -> None:
        """3.5: who leaves does not wait for those who sing, so they check after each song."""
        while any(voice.subscriber is None for voice in self.voices[:]):
            if not self.lock.acquire(blocking=False):
                return
            try:
                self.voices[:] = [voice for voice in self.voices if voice.subscriber is not None]
                self.sing()
            finally:
                self.lock.release()

    def sing(self) -> None:
        if self.singing:
            return
        self.singing = True
        while self.voices and not any(voice.waits for voice in self.voices):
            if self.left and not all(voice.demand for voice in self.voices):
                break
            for voice in self.voices[:]:
                if not self.left:
                    voice.end("on_complete")
            if self.left:
                self.left -= 1
                element = next(self.source)
                for voice in self.voices[:]:
                    voice.demand -= 1
                    voice.tell("on_next", element)
        self.singing = False


class Voice:
    def __init__(self, choir: Choir, subscriber: Any) -> None:
        self.choir = choir
        self.subscriber = subscriber
        self.demand = 0
        self.waits = True

    def request(self, n: int) -> None:
        with self.choir.lock:
            if n <= 0:
                self.end("on_error", ValueError("nobody sings less than one note"))
            self.demand += n
            self.choir.sing()
        self.choir.go_on_without_those_who_left()

    def cancel(self) -> None:
        self.subscriber = None
        self.choir.go_on_without_those_who_left()

    def leave(self) -> None:
        self.subscriber = None
        if self in self.choir.voices:
            self.choir.voices.remove(self)

    def end(self, signal: str, *arguments: object) -> None:
        subscriber = self.subscriber
        self.leave()
        self.subscriber = subscriber
        self.tell(signal, *arguments)
        self.subscriber = None

    def tell(self, signal: str, *arguments: object) -> None:
        subscriber = self.subscriber
        if subscriber is not None:
            try:
                getattr(subscriber, signal)(*arguments)
            except Exception:
                self.leave()


class Looped:
    """A task of an asyncio loop for each subscription; the loop runs on a thread of its own."""

    def __init__(self, n: int, loop: asyncio.AbstractEventLoop) -> None:
        self.n = n
        self.loop = loop

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        asyncio.run_coroutine_threadsafe(self.stream(subscriber), self.loop)

    async def stream(self, subscriber: Any) -> None:
        messages: asyncio.Queue[int | None] = asyncio.Queue()

        def put(message: int | None) -> None:
            try:
                self.loop.call_soon_threadsafe(messages.put_nowait, message)
            except RuntimeError:
                pass  # the loop is closed, so the stream is over

        subscriber.on_subscribe(SimpleNamespace(request=put, cancel=lambda: put(None)))
        demand, source = 0, iter(range(self.n))
        while True:
            await asyncio.sleep(0)
            while not demand or not messages.empty():
                message = await messages.get()
                if message is None:
                    return
                if message <= 0:
                    subscriber.on_error(ValueError("request(n) takes n > 0"))
                    return
                demand += message
            demand -= 1
            element = next(source, None)
            if element is None:
                subscriber.on_complete()
                return
            subscriber.on_next(element)


class Landlord:
    """Starts an asyncio loop of its own for each subscription, on a new thread."""

    def __init__(self, n: int) -> None:
        self.n = n

    def subscribe(self, subscriber: Any) -> None:
        require(subscriber)
        threading.Thread(target=self.live, args=(subscriber,), daemon=True).start()

    def live(self, subscriber: Any) -> None:
        async def stream() -> None:
            await Looped(self.n, asyncio.get_running_loop()).stream(subscriber)

        asyncio.run(stream())
