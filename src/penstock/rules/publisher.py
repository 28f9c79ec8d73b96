"""Chapter 1: what a publisher owes to its subscribers."""

from __future__ import annotations

from typing import Final

from penstock.rules.model import Party, Rule, Strength, history

__all__ = ["PUBLISHER_RULES"]

PUBLISHER_RULES: Final = (
    Rule(
        number="1.1",
        binds=Party.PUBLISHER,
        strength=Strength.MUST,
        summary="no more elements are sent than were requested",
        text=(
            "The elements that a publisher has sent to a subscriber MUST NOT, at any moment, "
            "outnumber those that the subscriber has asked for."
        ),
        intent=(
            "Demand is a promise of room. The receiver never has to keep more than it asked for, "
            "so every queue on the way can be bounded. It follows that a request happens before "
            "the elements that it allows."
        ),
        related=("1.2", "2.1", "2.5", "3.8", "3.17"),
        history=history(
            notes=(
                "on_next is called at most as often as the preceding requestMore calls add up to."
            ),
            draft="",
            v1_0_0=(
                "A bound on totals that holds at all times. The review notes add that requesting "
                "therefore happens before receiving."
            ),
            v1_0_1="Spelling only.",
        ),
    ),
    Rule(
        number="1.2",
        binds=Party.PUBLISHER,
        strength=Strength.MAY,
        summary="the stream may end before all requests are served",
        text=(
            "A request is not a debt: a publisher MAY end the stream, with on_complete or "
            "on_error, before it has met all of the demand."
        ),
        intent=(
            "The source may be empty, run out or fail. So a subscriber waits for a terminal "
            "signal, never for a count."
        ),
        related=("1.1", "1.4", "1.5", "2.9", "2.10"),
        history=history(
            v1_0_0="First appears. The review notes correct its grammar: fewer, not less.",
            v1_0_1="The correction is taken up.",
        ),
    ),
    Rule(
        number="1.3",
        binds=Party.PUBLISHER,
        strength=Strength.MUST,
        summary="signals to a subscriber never overlap",
        text=(
            "The signals to one subscriber MUST be sent serially: on_subscribe, on_next, on_error "
            "and on_complete never overlap, and each happens before the next, whichever threads "
            "they come from."
        ),
        intent=(
            "A subscriber can be written as if there were one thread: plain fields, no locks. "
            "Several threads may take turns, provided that something orders them."
        ),
        python=(
            "The GIL does not make calls serial, since a thread switch can happen in the middle of "
            "a signal. A lock, a queue or an executor with one worker does. Calls that nest on one "
            "thread, on_next inside request inside on_next, are covered by rule 3.3."
        ),
        related=("2.7", "2.11", "3.3"),
        checklist="+",
        history=history(
            v1_0_0=(
                "First appears; the drafts had nothing like it. Signals are sequential: no two "
                "notifications at once."
            ),
            v1_0_1="Thread-safe signals; from several threads, under external synchronization.",
            v1_0_2="The glossary gains an entry for thread-safe.",
            v1_0_3=(
                "One word replaces all that: serially, which the glossary explains by "
                "happens-before. The intent allows several threads on that condition."
            ),
        ),
    ),
    Rule(
        number="1.4",
        binds=Party.PUBLISHER,
        strength=Strength.MUST,
        summary="a publisher that fails signals on_error",
        text="A publisher that fails MUST report it to its subscribers with on_error.",
        intent=(
            "A subscriber that is not told would wait forever. It has to learn of the failure so "
            "that it can release what it holds and decide what to do next."
        ),
        python=(
            "The error is an Exception. KeyboardInterrupt, SystemExit and the like are not "
            "failures of the stream: a BaseException that is not an Exception passes through to "
            "the caller."
        ),
        related=("1.2", "1.6", "1.7", "1.9", "2.10", "4.2"),
        checklist="+",
        history=history(
            notes=(
                "Only for latecomers: a publisher in error state answers subscribe with on_error."
            ),
            draft="All subscribers get on_error when the publisher cannot recover from an error.",
            v1_0_0="Put in one short sentence; the word recover is gone.",
        ),
    ),
    Rule(
        number="1.5",
        binds=Party.PUBLISHER,
        strength=Strength.MUST,
        summary="a publisher that finishes signals on_complete",
        text=(
            "A publisher that reaches the regular end of its stream MUST report it to its "
            "subscribers with on_complete. An endless stream never gets there."
        ),
        intent=(
            "Silence is not an end. A subscriber has to learn that nothing more will come, so that "
            "it can release what it holds and pass the news on."
        ),
        related=("1.2", "1.6", "1.7", "2.9"),
        checklist="+",
        history=history(
            notes="Only for latecomers: a completed publisher answers subscribe with on_complete.",
            draft=(
                "on_complete follows the final element, which is the same for all, as early as "
                "possible: once the end is known, it does not wait for another requestMore."
            ),
            v1_0_0="A finite stream that ends well signals on_complete; how early is not said.",
        ),
    ),
    Rule(
        number="1.6",
        binds=Party.PUBLISHER,
        strength=Strength.MUST,
        summary="on_error and on_complete cancel the subscription",
        text=(
            "Once a publisher has sent on_error or on_complete, the subscription that it used MUST "
            "be treated as cancelled."
        ),
        intent=(
            "A stream ends in the same way, no matter which side ended it. After a terminal "
            "signal, as after cancel, calls on the subscription are no-ops and no reference is "
            "kept."
        ),
        python="A weak reference to the subscriber dies, as in rule 3.13.",
        related=("1.4", "1.5", "1.7", "2.4", "3.6", "3.7", "3.13"),
        checklist="+",
        history=history(
            v1_0_0="First appears. The drafts made this a duty of the subscriber alone (rule 2.4).",
        ),
    ),
    Rule(
        number="1.7",
        binds=Party.PUBLISHER,
        strength=Strength.MUST,
        summary="nothing follows on_error or on_complete",
        text="After on_error or on_complete, a subscriber MUST NOT get any other signal.",
        intent=(
            "The two terminal signals are final. What the subscriber released when one of them "
            "arrived is never touched again."
        ),
        related=("1.4", "1.5", "1.6", "2.4"),
        checklist="-",
        history=history(
            notes="No on_next after a terminal signal, and one terminal signal per subscription.",
            draft="Counted per subscriber instead of per subscription.",
            v1_0_0="No signal of any kind follows a terminal state.",
        ),
    ),
    Rule(
        number="1.8",
        binds=Party.PUBLISHER,
        strength=Strength.MUST,
        summary="signals eventually stop after a cancel",
        text=(
            "After a subscription is cancelled, the signals to its subscriber MUST cease sooner or "
            "later. Those already on their way may still arrive."
        ),
        intent=(
            "cancel crosses threads and queues, so it takes effect soon rather than at once. But "
            "it has to take effect."
        ),
        related=("2.8", "3.12"),
        history=history(
            notes="Part of cancel: eventually, the publisher no longer calls the subscriber.",
            draft="",
            v1_0_0="A rule for the publisher, besides rule 3.12 for the subscription.",
            v1_0_1="The intent explains the delay: signals are asynchronous and take time.",
        ),
    ),
    Rule(
        number="1.9",
        binds=Party.PUBLISHER,
        strength=Strength.MUST,
        summary="on_subscribe comes first; subscribe returns normally",
        text=(
            "The first signal that subscribe sends MUST be on_subscribe, and subscribe MUST return "
            "normally. Only a missing subscriber is reported to the caller, by an exception. "
            "Everything else that goes wrong, a refusal included, is reported with on_error after "
            "on_subscribe."
        ),
        intent=(
            "on_subscribe is where a subscriber sets itself up, so it relies on being called "
            "first. And failures are for the subscriber, which lives as long as the stream, not "
            "for the caller of subscribe. The same goes for a publisher that is out of resources, "
            "exhausted or already in a terminal state."
        ),
        python=(
            "subscribe(None) raises TypeError. No other Exception leaves subscribe; "
            "KeyboardInterrupt, SystemExit and other BaseExceptions do."
        ),
        related=("1.4", "1.10", "2.12", "2.13", "3.14"),
        checklist="+",
        history=history(
            notes=(
                "The opposite for a publisher that has ended: on_complete or on_error, never "
                "on_subscribe. A refusal is an on_error alone."
            ),
            draft="A publisher that is shut down also skips on_subscribe: IllegalStateException.",
            v1_0_0=(
                "Reversed: on_subscribe always comes first, and failures follow it. The review "
                "notes ask for a definition of returning normally."
            ),
            v1_0_1="The glossary has that definition. on_subscribe comes at most once, too.",
        ),
    ),
    Rule(
        number="1.10",
        binds=Party.CALLER,
        strength=Strength.MUST,
        summary="each call of subscribe takes a different subscriber",
        text=(
            "subscribe MAY be called any number of times, but its caller MUST NOT pass the same "
            "subscriber twice."
        ),
        intent=(
            "Neither a publisher nor a subscriber can be expected to cope with being connected "
            "twice, and the caller has to know that. To the publisher every call means the same as "
            "the first."
        ),
        python=(
            "The same subscriber is the same object: identity (is) decides, not ==. A publisher "
            "that notices may refuse by on_error(RuntimeError)."
        ),
        related=("1.9", "1.11", "2.5", "2.12", "3.13"),
        checklist="-",
        history=history(
            notes=(
                "A duty of the publisher: it refuses a subscriber that it still serves, identified "
                "by reference, with an IllegalStateException."
            ),
            draft=(
                "Object equality instead of reference. Even after cancel, the same subscriber may "
                "be refused until the clean-up is over."
            ),
            v1_0_0="A duty of the caller: any number of calls, a different subscriber each.",
            checklist="Leaves out the reference to rule 2.12.",
        ),
    ),
    Rule(
        number="1.11",
        binds=Party.PUBLISHER,
        strength=Strength.MAY,
        summary="a publisher may serve several subscribers",
        text=(
            "A publisher MAY serve several subscribers. It also chooses, for each subscription, "
            "between unicast and multicast: elements of its own, or elements shared with others."
        ),
        intent=(
            "How many subscribers there can be, and how the elements are distributed among them, "
            "is up to the publisher."
        ),
        related=("1.10",),
        checklist="+",
        history=history(
            notes=(
                "Stricter: all subscribers at any one time get the same sequence, each at its own "
                "rate; a newcomer starts with the oldest element still kept."
            ),
            draft="The same, without the words about time.",
            v1_0_0="Free choice between unicast and multicast.",
        ),
    ),
)
