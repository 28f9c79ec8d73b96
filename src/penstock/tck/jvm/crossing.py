"""Wraps the parties of a stream both ways, so that Python and Java can be each other's peers.

What the two standards say differently is translated: a missing argument is a ``TypeError`` here
and a ``NullPointerException`` there, an illegal request a ``ValueError`` here and an
``IllegalArgumentException`` there. All else passes through. For use within a running JVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jpype

from penstock.api import UNBOUNDED, Processor, Publisher, Subscriber, Subscription
from penstock.runtime import shorten

__all__ = [
    "element_to_java",
    "error_to_java",
    "processor_to_java",
    "publisher_to_java",
    "subscriber_to_java",
]

JUDGE = "penstock.OutsideJudge"
STANDARD = "org.reactivestreams"


class JavaSubscriber:
    """A subscriber of Java, for publishers of Python, whose errors are noted, too."""

    def __init__(self, java: Any, errors: list[str]) -> None:
        self._java = java
        self._errors = errors

    def on_subscribe(self, subscription: Subscription) -> None:
        self._java.onSubscribe(subscription_to_java(subscription))

    def on_next(self, element: Any) -> None:
        self._java.onNext(element_to_java(element))

    def on_error(self, error: Exception) -> None:
        self._errors.append(shorten(error))
        self._java.onError(error_to_java(error))

    def on_complete(self) -> None:
        self._java.onComplete()


class JavaSubscription:
    """A subscription of Java, for subscribers of Python."""

    def __init__(self, java: Any) -> None:
        self._java = java

    def request(self, n: int) -> None:
        self._java.request(min(n, UNBOUNDED))  # more does not fit, and means the same (3.17)

    def cancel(self) -> None:
        self._java.cancel()


class Held:
    """A Python object in the hands of Java."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def matches(self, other: Held) -> bool:
        """Whether Python takes the two for equal."""
        return bool(self.content == other.content)

    def text(self) -> str:
        """What Java shows of it."""
        return repr(self.content)


def publisher_to_java(publisher: Publisher[Any], errors: list[str]) -> Any:
    """A publisher of Python, for subscribers of Java; one of Java stays as it is.

    What it signals by ``on_error`` is in ``errors``, since not every test of the kit checks it.
    """
    if isinstance(publisher, jpype.JClass(f"{STANDARD}.Publisher")):
        return publisher
    return _proxy("Publisher", publisher, _publishing(publisher, errors))


def subscriber_to_java(subscriber: Subscriber[Any]) -> Any:
    """A subscriber of Python, for publishers of Java."""
    return _proxy("Subscriber", subscriber, _subscribing(subscriber))


def processor_to_java(processor: Processor[Any, Any], errors: list[str]) -> Any:
    """A processor of Python, for both sides."""
    methods = {**_publishing(processor, errors), **_subscribing(processor)}
    return _proxy("Processor", processor, methods)


def subscription_to_java(subscription: Subscription) -> Any:
    """A subscription of Python, for subscribers of Java."""

    def request(n: Any) -> None:
        with _raising_for_java():
            subscription.request(int(n))

    def cancel() -> None:
        with _raising_for_java():
            subscription.cancel()

    return _proxy("Subscription", subscription, {"request": request, "cancel": cancel})


def element_to_java(element: Any) -> Any:
    """An element of Python, which Java can compare; one of Java stays as it is."""
    if element is None or isinstance(element, jpype.JObject):
        return element
    held = jpype.JProxy(f"{JUDGE}$Held", inst=Held(element), convert=True)
    return jpype.JClass(f"{JUDGE}$Element")(held)


def error_to_java(error: Any) -> Any:
    """An error of Python as the one that Java's standard asks for in its place."""
    if error is None or isinstance(error, jpype.JClass("java.lang.Throwable")):
        return error
    names = {ValueError: "IllegalArgumentException", RuntimeError: "IllegalStateException"}
    kind = next((java for kind, java in names.items() if isinstance(error, kind)), None)
    text = str(error) if kind else f"{type(error).__name__}: {error}"
    return jpype.JClass(f"java.lang.{kind or 'RuntimeException'}")(text)


def _proxy(interface: str, party: object, methods: dict[str, Any]) -> Any:
    name = type(party).__qualname__  # for the complaints of the kit; an address would say nothing
    methods["toString"] = lambda: name
    return jpype.JProxy(f"{STANDARD}.{interface}", dict=methods)


def _publishing(publisher: Any, errors: list[str]) -> dict[str, Any]:
    def subscribe(subscriber: Any) -> None:
        with _raising_for_java(subscriber):
            wrapped = None if subscriber is None else JavaSubscriber(subscriber, errors)
            publisher.subscribe(wrapped)

    return {"subscribe": subscribe}


def _subscribing(subscriber: Any) -> dict[str, Any]:
    def on_subscribe(subscription: Any) -> None:
        with _raising_for_java(subscription):
            wrapped = None if subscription is None else JavaSubscription(subscription)
            subscriber.on_subscribe(wrapped)

    def on_next(element: Any) -> None:
        with _raising_for_java(element):
            subscriber.on_next(_element_to_python(element))

    def on_error(error: Any) -> None:
        with _raising_for_java(error):
            subscriber.on_error(error)  # Java's exceptions are exceptions of Python, too

    def on_complete() -> None:
        with _raising_for_java():
            subscriber.on_complete()

    return {
        "onSubscribe": on_subscribe,
        "onNext": on_next,
        "onError": on_error,
        "onComplete": on_complete,
    }


def _element_to_python(element: Any) -> Any:
    is_ours = isinstance(element, jpype.JClass(f"{JUDGE}$Element"))
    return element.held.content if is_ours else element


@contextmanager
def _raising_for_java(argument: Any = ()) -> Iterator[None]:
    """What Python raises is what Java would throw."""
    try:
        yield
    except Exception as error:
        if argument is None and isinstance(error, TypeError):
            # A NullPointerException that is made in Python has no substance; this one Java makes.
            jpype.JClass("java.util.Objects").requireNonNull(None, str(error))
        raise error_to_java(error) from error
