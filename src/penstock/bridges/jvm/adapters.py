"""Publishers of Java for Python, and of Python for Java."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

import jpype

from penstock.api import Publisher
from penstock.bridges.jvm.conversion import hold
from penstock.bridges.jvm.from_java import JavaPublisher
from penstock.bridges.jvm.jvm_process import java_class, require_classes
from penstock.bridges.jvm.to_java import serve_subscribers
from penstock.flow import Flow
from penstock.java import JavaUnavailable

__all__ = ["Standard", "from_jvm", "to_jvm"]

Standard: TypeAlias = Literal["flow", "reactive-streams"]
_STANDARDS: Final = ("flow", "reactive-streams")
_OF_JAVA: Final = "java.util.concurrent.Flow.Publisher or an org.reactivestreams.Publisher"


def from_jvm(publisher: Any) -> Flow[Any]:
    """A flow of what a publisher of Java sends, by either of its two standards.

    Demand:
        Java is asked for as much as the subscriber here has requested, in portions of at most 1024.

    Errors:
        A throwable of Java arrives as a ``JavaError``, whose ``__cause__`` it is; an exception
        that has come from Python arrives as itself.
    """
    return Flow.from_publisher(JavaPublisher(_as_flow_publisher(publisher)))


def to_jvm(publisher: Publisher[Any], standard: Standard = "flow") -> Any:
    """A publisher of Java that sends what ``publisher`` sends, such as a `Flow`.

    It is a ``java.util.concurrent.Flow.Publisher``, or an ``org.reactivestreams.Publisher`` by the
    standard ``"reactive-streams"``. Starts a JVM if there is none.

    Demand:
        The publisher is asked for as much as the subscriber in Java has requested, in portions of
        at most 1024.

    Errors:
        An exception arrives as a ``penstock.bridge.PythonException``, a ``JavaError`` as the
        throwable that it was made of.
    """
    if standard not in _STANDARDS:
        raise ValueError(f"the standard is one of {', '.join(_STANDARDS)}, not {standard!r}")
    is_foreign = isinstance(publisher, type | jpype.JObject)
    if is_foreign or not callable(getattr(publisher, "subscribe", None)):
        raise TypeError(f"to_jvm takes a publisher of Python, not {_kind_of(publisher)}")
    require_classes()
    serve_subscribers()
    ours = java_class("PythonPublisher")(hold(publisher), repr(publisher))
    return ours if standard == "flow" else _adapters().toPublisher(ours)


def _as_flow_publisher(publisher: Any) -> Any:
    if isinstance(publisher, jpype.JObject):
        require_classes()
        if isinstance(publisher, jpype.JClass("java.util.concurrent.Flow$Publisher")):
            return publisher
        if _is_reactive_streams(publisher):
            return _adapters().toFlowPublisher(publisher)
    raise TypeError(f"from_jvm takes a {_OF_JAVA}, not {_kind_of(publisher)}")


def _is_reactive_streams(publisher: Any) -> bool:
    try:
        return isinstance(publisher, jpype.JClass("org.reactivestreams.Publisher"))
    except TypeError:
        return False  # the JVM has no such class


def _adapters() -> Any:
    try:
        return jpype.JClass("org.reactivestreams.FlowAdapters")
    except TypeError:
        raise JavaUnavailable(
            "the JVM has no org.reactivestreams of version 1.0.3 or newer: add the jar "
            "reactive-streams to its class path"
        ) from None


def _kind_of(thing: object) -> str:
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    return f"a {type(thing).__name__}"
