"""Chapter 2: what a subscriber owes to its publisher, and may count on."""

from __future__ import annotations

from typing import Final

from penstock.rules.model import Party, Rule, Strength, history

__all__ = ["SUBSCRIBER_RULES"]

SUBSCRIBER_RULES: Final = (
    Rule(
        number="2.1",
        binds=Party.SUBSCRIBER,
        strength=Strength.MUST,
        summary="a subscriber gets elements by calling request",
        text=(
            "A subscriber MUST make its demand known by calling request on its subscription; "
            "otherwise no elements arrive."
        ),
        intent=(
            "The receiver decides when it is ready, and for how much. A synchronous subscriber "
            "does well to call request last in a signal, because the next element may arrive "
            "inside that call. And it does better to request as many elements as it can take than "
            "to request them one by one, which costs a round trip for each."
        ),
        related=("1.1", "3.2", "3.8"),
        checklist="+",
        history=history(
            v1_0_0="First appears; the drafts had only the bound on the publisher (rule 1.1).",
            v1_0_3=(
                "The intent recommends two things: call the subscription last in a signal, and "
                "request more than one element at a time."
            ),
        ),
    ),
    Rule(
        number="2.2",
        binds=Party.SUBSCRIBER,
        strength=Strength.SHOULD,
        summary="slow work in a subscriber should run elsewhere",
        text=(
            "A subscriber whose work on a signal could hold up the publisher SHOULD hand that work "
            "over and let it run asynchronously."
        ),
        intent=(
            "The publisher's thread is not the subscriber's to use up. A slow handler delays the "
            "source and all other subscribers, so handling a signal should be non-obstructing."
        ),
        python=(
            "On an asyncio loop a slow handler stops every other task. Pure Python that computes "
            "also holds the GIL, so a thread is not always enough: it may take a process."
        ),
        related=("2.11", "3.4"),
        checklist="-",
        history=history(
            notes=(
                "Mandatory for all four signals: each schedules an event and does nothing else. "
                "1.0.x contradicts this and lets a subscriber work synchronously."
            ),
            draft="",
            v1_0_0="Recommended only, for work that would harm the publisher's responsivity.",
            v1_0_2="The intent gains a missing word.",
        ),
    ),
    Rule(
        number="2.3",
        binds=Party.SUBSCRIBER,
        strength=Strength.MUST,
        summary="on_error and on_complete call nothing upstream",
        text=(
            "While a subscriber handles on_complete or on_error, it MUST NOT call the subscription "
            "or the publisher in any way."
        ),
        intent=(
            "The publisher is taking the stream down. A call back into it at that moment would "
            "create loops and races among the three."
        ),
        related=("2.4", "3.2"),
        checklist="-",
        history=history(
            notes=(
                "Wider: none of the four signals calls its subscription, its publisher or anybody "
                "else's. Rule 3.2 contradicts this for on_subscribe and on_next."
            ),
            draft="",
            v1_0_0="Only the terminal signals are bound, and only towards their own stream.",
        ),
    ),
    Rule(
        number="2.4",
        binds=Party.SUBSCRIBER,
        strength=Strength.MUST,
        summary="a subscription is over after on_error or on_complete",
        text=(
            "A subscriber that has received on_complete or on_error MUST regard its subscription "
            "as cancelled from then on."
        ),
        intent=(
            "Both sides agree that a terminal signal is the end. The subscription is of no further "
            "use, and there is nothing left to cancel."
        ),
        related=("1.6", "1.7", "2.3", "2.6"),
        checklist="+",
        history=history(
            notes="With a terminal event the subscription counts as cancelled.",
            draft="",
            v1_0_0="Says signal instead of event.",
        ),
    ),
    Rule(
        number="2.5",
        binds=Party.SUBSCRIBER,
        strength=Strength.MUST,
        summary="a subscriber cancels a second subscription",
        text=(
            "While a subscriber has an active subscription, it MUST answer another on_subscribe by "
            "calling cancel on the new one. The first one stays in use."
        ),
        intent=(
            "One subscriber takes part in one stream. A second subscription that stays open is a "
            "leak, and its elements would mix with those of the first: more of them than were "
            "requested (rule 1.1)."
        ),
        related=("1.1", "1.10", "2.12"),
        checklist="+",
        history=history(
            notes="Another subscription while one is active triggers an error.",
            draft="It is not accepted. How is left open, but the user is to notice the mistake.",
            v1_0_0="The answer is fixed: cancel the new one.",
            v1_0_3=(
                "The intent warns that rule 1.1 and others may be broken in ways that are hard to "
                "trace."
            ),
        ),
    ),
    Rule(
        number="2.6",
        binds=Party.SUBSCRIBER,
        strength=Strength.MUST,
        summary="a subscription no longer needed is cancelled",
        text="A subscriber that has no more use for its subscription MUST call cancel on it.",
        intent=(
            "Dropping the reference tells the publisher nothing: it would keep its resources for a "
            "subscriber that is gone. One that wants a single element, for example, cancels once "
            "it has it."
        ),
        python=(
            "Garbage collection does not replace cancel. Leaving an async for loop early is such a "
            "case: closing its iterator has to cancel."
        ),
        related=("2.4", "2.13", "3.12"),
        checklist="+",
        history=history(
            notes="A subscriber that shuts down cancels a subscription that is still active.",
            draft="",
            v1_0_0="Put as no longer being valid to the publisher, without a terminal signal.",
            v1_0_1="Put simply: cancel what is not needed any more.",
        ),
    ),
    Rule(
        number="2.7",
        binds=Party.SUBSCRIBER,
        strength=Strength.MUST,
        summary="calls of request and cancel never overlap",
        text=(
            "A subscriber MUST call request and cancel serially. The calls may come from several "
            "threads, but they never overlap, and each happens before the next."
        ),
        intent=(
            "A subscription can then rely on one caller at a time. Threads can share it if "
            "something orders their calls."
        ),
        python=(
            "On an asyncio loop, calls from its own thread are serial already; from elsewhere, "
            "loop.call_soon_threadsafe makes them so. Between threads, use a lock or an executor "
            "with one worker. The GIL alone orders nothing."
        ),
        related=("1.3", "3.1", "3.5"),
        history=history(
            draft=(
                "One thread for all calls, or external synchronization. The subscription itself "
                "need not be thread-safe, says a footnote."
            ),
            v1_0_0="The footnote is gone: rule 3.5 wants cancel to be thread-safe.",
            v1_0_3=(
                "request and cancel are called serially. The intent allows several threads if each "
                "call happens before the next."
            ),
            v1_0_4="The intent says serial instead; no other wording changed in 1.0.4.",
        ),
    ),
    Rule(
        number="2.8",
        binds=Party.SUBSCRIBER,
        strength=Strength.MUST,
        summary="elements may still arrive after cancel",
        text=(
            "A subscriber MUST be ready for elements that arrive after it called cancel, as many "
            "as it has requested and not yet received. cancel need not take effect at once."
        ),
        intent=(
            "The publisher learns of the cancel a little later. What it sent until then is on its "
            "way."
        ),
        related=("1.8", "3.12"),
        history=history(
            notes="Ready for on_next after cancel, where demand was still open.",
            draft="The condition moves to a footnote.",
            v1_0_0="The condition is back; besides, cancel may clean up later.",
            v1_0_2="A broken sentence in the intent is fixed.",
            checklist="Leaves out the condition and the sentence on cleaning up.",
        ),
    ),
    Rule(
        number="2.9",
        binds=Party.SUBSCRIBER,
        strength=Strength.MUST,
        summary="on_complete may arrive without any request",
        text=(
            "A subscriber MUST be ready for on_complete from on_subscribe on, whether it has "
            "requested anything or not."
        ),
        intent=(
            "The end needs no demand. An empty stream can say so at once, and nobody has to ask "
            "for an element just to find out that there is none."
        ),
        related=("1.2", "1.5", "2.10"),
        checklist="-",
        history=history(
            notes="on_complete may come whether requestMore authorized it or not.",
            draft="",
            v1_0_0="Says signal instead of event, and request instead of requestMore.",
        ),
    ),
    Rule(
        number="2.10",
        binds=Party.SUBSCRIBER,
        strength=Strength.MUST,
        summary="on_error may arrive without any request",
        text=(
            "A subscriber MUST be ready for on_error from on_subscribe on, whether it has "
            "requested anything or not."
        ),
        intent=(
            "A failure needs no demand either, and may have nothing to do with it. Nobody has to "
            "ask for an element just to find out that the source is broken."
        ),
        related=("1.2", "1.4", "2.9", "4.2"),
        checklist="-",
        history=history(
            notes="on_error may come whether requestMore authorized it or not.",
            draft="",
            v1_0_0="Says signal instead of event, and request instead of requestMore.",
        ),
    ),
    Rule(
        number="2.11",
        binds=Party.SUBSCRIBER,
        strength=Strength.MUST,
        summary="a signal happens before it is processed",
        text=(
            "A subscriber that processes a signal elsewhere MUST hand it over safely: the call of "
            "the signal's method happens before the processing."
        ),
        intent=(
            "Asynchronous work inside a subscriber is the subscriber's own affair, and so is its "
            "thread safety. The publisher is done when the call returns."
        ),
        python=(
            "Python has no written memory model. queue.Queue, a lock, Executor.submit and "
            "loop.call_soon_threadsafe hand over safely; a bare attribute that two threads share "
            "does not, least of all on a free-threaded build."
        ),
        related=("1.3", "2.2"),
        history=history(
            draft="The call happens before its event is processed, in the sense of Java's rules.",
            v1_0_0="Says signal instead of event; a footnote refers to Java's memory model.",
            v1_0_1="signal methods, no longer onXXX methods; the footnote is in the intent.",
        ),
    ),
    Rule(
        number="2.12",
        binds=Party.PUBLISHER,
        strength=Strength.MUST,
        summary="on_subscribe reaches a subscriber at most once",
        text="on_subscribe MUST NOT be called a second time on the same subscriber.",
        intent=(
            "A subscriber should be assumed to be good for one stream only. Its state belongs to "
            "that stream, from the first signal to the last."
        ),
        python=(
            "The same subscriber is the same object: identity (is) decides. Java uses equals, but "
            "== would take two dataclass instances with equal fields for one subscriber."
        ),
        related=("1.9", "1.10", "2.5", "3.1", "3.13"),
        checklist="-",
        history=history(
            notes="A subscriber with an active subscription is refused; references are compared.",
            draft="Object equality is what counts. Coming back after cancel is discouraged.",
            v1_0_0=(
                "At most one on_subscribe for a subscriber, by object equality. The review notes "
                "read this as: not subscribed to several publishers at the same time."
            ),
            v1_0_1="The intent goes further: subscribed once at most. Equality is Java's equals.",
            checklist="Leaves out how sameness is decided.",
        ),
    ),
    Rule(
        number="2.13",
        binds=Party.SUBSCRIBER,
        strength=Strength.MUST,
        summary="a subscriber's methods return normally",
        text=(
            "on_subscribe, on_next, on_error and on_complete MUST return normally. Only a missing "
            "argument is reported to the caller, by an exception. Otherwise all that a subscriber "
            "can do when it fails is cancel. If one raises anyway, its subscription MUST be "
            "treated as cancelled, and the publisher that called it MUST report the error where "
            "somebody will notice it."
        ),
        intent=(
            "A publisher has no use for a subscriber's exception and must not be broken by it. The "
            "subscriber at fault cannot be told of it either, so the error goes to a log or a "
            "hook."
        ),
        python=(
            "None as subscription, element or error raises TypeError. Any other Exception cancels "
            "the subscription and goes to the documented hook, once. KeyboardInterrupt, SystemExit "
            "and other BaseExceptions pass through."
        ),
        related=("1.9", "2.6", "3.15", "3.16"),
        checklist="+",
        history=history(
            v1_0_0="First appears.",
            checklist="Leaves out what follows when a subscriber raises.",
        ),
    ),
)
