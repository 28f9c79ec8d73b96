"""Chapter 3: what request and cancel do, and who may call them."""

from __future__ import annotations

from typing import Final

from penstock.rules.model import Party, Rule, Strength, history

__all__ = ["SUBSCRIPTION_RULES"]

SUBSCRIPTION_RULES: Final = (
    Rule(
        number="3.1",
        binds=Party.SUBSCRIBER,
        strength=Strength.MUST,
        summary="only the subscriber calls request and cancel",
        text=(
            "request and cancel MUST NOT be called from outside the context of the subscriber that "
            "received the subscription."
        ),
        intent=(
            "A subscription belongs to one pair, and in that pair the subscriber alone decides "
            "when more is wanted and when it is enough."
        ),
        python="The subscriber's tasks and threads are part of its context; rule 2.7 binds them.",
        related=("2.7", "2.12"),
        checklist="-",
        history=history(
            v1_0_0=(
                "First appears, with a second sentence on the one bond between a pair. The review "
                "notes want that moved to the comments, and a reference to rule 2.7 added."
            ),
            v1_0_1="The second sentence is in the intent. The reference was not added.",
        ),
    ),
    Rule(
        number="3.2",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MUST,
        summary="request may be called in on_subscribe and on_next",
        text=(
            "A subscription MUST allow synchronous calls of request inside on_subscribe and "
            "on_next."
        ),
        intent=(
            "That is the natural place to ask for more. So request has to be re-entrant, and a "
            "publisher may answer it on the very thread that asks."
        ),
        related=("2.1", "2.3", "3.3", "3.10"),
        history=history(
            v1_0_0=(
                "First appears. Both drafts forbade it: on_subscribe and on_next were not to call "
                "the subscription at all."
            ),
        ),
    ),
    Rule(
        number="3.3",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MUST,
        summary="request and on_next do not recurse without bound",
        text=(
            "request MUST bound the synchronous recursion in which on_next calls request and "
            "request calls on_next."
        ),
        intent=(
            "Unbounded recursion uses up stack with each element until none is left. A depth of "
            "one is best: the inner request only adds to the demand, and the outer one sends in a "
            "loop."
        ),
        python=(
            "CPython raises RecursionError at 1,000 frames by default, so unbounded recursion "
            "fails after a few hundred elements."
        ),
        related=("1.3", "3.2", "3.10", "3.11"),
        history=history(
            v1_0_0="First appears, with a footnote on how unbounded recursion exhausts the stack.",
            v1_0_1="The footnote is in the intent, which recommends a depth of one.",
        ),
    ),
    Rule(
        number="3.4",
        binds=Party.SUBSCRIPTION,
        strength=Strength.SHOULD,
        summary="request should return quickly",
        text="request SHOULD return quickly, so that its caller stays responsive.",
        intent=(
            "The method is meant to be non-obstructing. Long computations, waiting and anything "
            "else that ties up the caller's thread belong elsewhere."
        ),
        python=(
            "No time.sleep, no blocking input or output, no lock that may be held for long. On an "
            "asyncio loop each of these stops every other task."
        ),
        related=("2.2", "3.5"),
        checklist="-",
        history=history(
            notes="Advice for every method: give control back quickly, neither wait nor compute.",
            draft="",
            v1_0_0="A rule for request, with a footnote on what to avoid.",
            v1_0_1="The footnote is in the intent.",
        ),
    ),
    Rule(
        number="3.5",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MUST,
        summary="cancel is quick, repeatable and thread-safe",
        text=(
            "cancel MUST return quickly and MUST be thread-safe. It MUST be idempotent as well: "
            "calling it again changes nothing."
        ),
        intent=(
            "The method is meant to be non-obstructing. A subscriber that wants out gets out, "
            "without first asking whether another thread was quicker."
        ),
        python="However many threads call cancel, the source is cancelled once.",
        related=("2.7", "3.4", "3.7", "3.15"),
        history=history(
            notes="Be quick, as in rule 3.4. A second cancel raised: the opposite of idempotent.",
            draft=(
                "A second cancel is ignored. A subscription need not be thread-safe, says a "
                "footnote, which 1.0.x contradicts."
            ),
            v1_0_0=(
                "Quick, idempotent and thread-safe. The review notes want the last one removed, "
                "since rules 2.7 and 3.1 cover it."
            ),
            v1_0_1="It stays. The footnote on what to avoid is in the intent.",
            v1_0_2="The glossary gains an entry for thread-safe.",
        ),
    ),
    Rule(
        number="3.6",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MUST,
        summary="request does nothing after cancel",
        text="Once a subscription is cancelled, each further request MUST be a no-op.",
        intent="A request that crosses a cancel, or comes late, is a normal race, not a mistake.",
        python="Even an argument that rule 3.9 rejects is ignored then.",
        related=("1.6", "3.7", "3.8", "3.9"),
        history=history(
            notes=(
                "The opposite: IllegalStateException to the caller, and a subscriber must not even "
                "try. 1.0.x contradicts this."
            ),
            draft="The call is ignored.",
            v1_0_0="Called a NOP.",
        ),
    ),
    Rule(
        number="3.7",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MUST,
        summary="cancel does nothing after cancel",
        text="Once a subscription is cancelled, each further cancel MUST be a no-op.",
        intent="This is what idempotent means in rule 3.5, seen from the second call.",
        related=("1.6", "3.5", "3.6"),
        history=history(
            notes=(
                "The opposite: IllegalStateException to the caller, and a subscriber must not even "
                "try. 1.0.x contradicts this."
            ),
            draft="The call is ignored.",
            v1_0_0="Called a NOP. The review notes would reword it or fold it into rule 3.5.",
            v1_0_1="The rule is kept; its intent only refers to rule 3.5.",
        ),
    ),
    Rule(
        number="3.8",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MUST,
        summary="request adds to the demand",
        text="While a subscription is not cancelled, request(n) MUST add n to its demand.",
        intent="Requests add up and none gets lost: 3 and then 4 make 7, whenever they come.",
        related=("1.1", "2.1", "3.6", "3.9", "3.17"),
        checklist="+",
        history=history(
            notes="The method is named requestMore, and registers so many more elements.",
            draft="It takes an Int.",
            v1_0_0="The method is named request and takes a long.",
        ),
    ),
    Rule(
        number="3.9",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MUST,
        summary="request takes a positive number",
        text=(
            "While a subscription is not cancelled, request(n) with n <= 0 MUST be answered with "
            "on_error. The error SHOULD explain that only a positive n is allowed."
        ),
        intent=(
            "Nobody asks for nothing, or for less than nothing, on purpose: such an n comes from a "
            "wrong calculation. It has to show up as an error, not as a stream that stands still."
        ),
        python=(
            "The error is a ValueError that names this rule; Java has IllegalArgumentException. "
            "Anything that is not an int, such as a float or a str, is answered with "
            "on_error(TypeError), and so is a bool. Nothing is raised (rule 3.16)."
        ),
        related=("3.6", "3.8", "3.16", "3.17"),
        checklist="+",
        history=history(
            notes="n <= 0 raises IllegalArgumentException at the caller.",
            draft="",
            v1_0_0=(
                "The exception goes to on_error, which contradicts both drafts. Its message must "
                "refer to this rule or quote it."
            ),
            v1_0_1="The message should explain that n must be positive; no reference needed.",
            checklist="Leaves out the sentence on the message.",
        ),
    ),
    Rule(
        number="3.10",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MAY,
        summary="request may call on_next before it returns",
        text=(
            "While a subscription is not cancelled, request MAY send elements synchronously, to "
            "its own subscriber or to others."
        ),
        intent="A publisher needs no thread of its own: it can send on the thread that asks.",
        python=(
            "A subscriber has to be ready for on_next inside its own call of request. It sets its "
            "fields before that call, not after it."
        ),
        related=("3.2", "3.3", "3.11"),
        checklist="-",
        history=history(
            notes="Allowed only where the next element is at hand already.",
            draft="",
            v1_0_0="Allowed without that condition.",
        ),
    ),
    Rule(
        number="3.11",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MAY,
        summary="request may end the stream before it returns",
        text=(
            "While a subscription is not cancelled, request MAY send on_complete or on_error "
            "synchronously, to its own subscriber or to others."
        ),
        intent="A publisher that works on the thread that asks can end the stream there as well.",
        python="Code that follows request in on_subscribe or on_next may run after the end.",
        related=("3.3", "3.10"),
        checklist="-",
        history=history(draft="First appears, without any condition.", v1_0_0=""),
    ),
    Rule(
        number="3.12",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MUST,
        summary="cancel makes the publisher stop eventually",
        text=(
            "While a subscription is not cancelled, cancel MUST make the publisher end its signals "
            "to the subscriber, sooner or later. It need not take effect at once."
        ),
        intent="The wish to stop is honoured, though it may take a while to get there.",
        related=("1.8", "2.6", "2.8", "3.13"),
        history=history(
            notes="Eventually, the publisher no longer calls the subscriber.",
            draft="",
            v1_0_0="Adds that the effect need not be immediate.",
        ),
    ),
    Rule(
        number="3.13",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MUST,
        summary="cancel makes the publisher drop the subscriber",
        text=(
            "While a subscription is not cancelled, cancel MUST make the publisher let go of the "
            "subscriber, sooner or later, so that no reference to it is left."
        ),
        intent=(
            "A subscriber can be garbage-collected while its publisher lives on. Subscribing the "
            "same one again is discouraged, not forbidden: to forbid it, a publisher would have to "
            "remember every subscription that it ever had."
        ),
        python=(
            "A weak reference to the subscriber dies. Closures, bound methods and the traceback of "
            "an exception that is kept (error.__traceback__) are where a strong one may hide."
        ),
        related=("1.6", "1.10", "2.12", "3.12"),
        checklist="-",
        history=history(
            notes="References are dropped eventually, and cancel happens before a new subscribe.",
            draft=(
                "The second half is gone. A footnote discourages subscribing the same one again, "
                "which may fail while the clean-up goes on."
            ),
            v1_0_0="The advice against subscribing again is part of the rule.",
            v1_0_1="The advice is in the intent.",
        ),
    ),
    Rule(
        number="3.14",
        binds=Party.PUBLISHER,
        strength=Strength.MAY,
        summary="the last cancel may shut the publisher down",
        text=(
            "A publisher with state MAY enter the shut-down state when cancel is called on its "
            "last remaining subscription."
        ),
        intent=(
            "A source that nobody listens to may close for good. A later subscriber gets "
            "on_subscribe and then on_complete or on_error (rule 1.9)."
        ),
        related=("1.9",),
        checklist="-",
        history=history(
            draft="Mandatory with the last subscription, unless a keep-alive subscriber remains.",
            v1_0_0=(
                "Allowed, no longer demanded. The review notes ask whether a publisher should not "
                "be free to refuse newcomers whenever it likes."
            ),
            v1_0_1="The intent says what newcomers get: on_subscribe, then a terminal signal.",
        ),
    ),
    Rule(
        number="3.15",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MUST,
        summary="cancel returns normally",
        text="cancel MUST return normally: no error reaches its caller.",
        intent=(
            "A subscriber that stops a stream has no use for an error. What goes wrong while the "
            "stream closes is reported elsewhere."
        ),
        python=(
            "No Exception leaves cancel. One that a source raises when it is closed goes to the "
            "documented hook. KeyboardInterrupt, SystemExit and other BaseExceptions pass through."
        ),
        related=("2.13", "3.5", "3.16"),
        checklist="-",
        history=history(
            v1_0_0=(
                "First appears; the earliest notes let a second cancel raise. A second sentence "
                "leaves on_error as the one way to signal failure."
            ),
            v1_0_1="The second sentence is in the glossary, under return normally.",
        ),
    ),
    Rule(
        number="3.16",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MUST,
        summary="request returns normally",
        text="request MUST return normally: no error reaches its caller.",
        intent=(
            "A subscriber learns of a failure in one place, where its elements arrive: in on_error."
        ),
        python=(
            "No Exception leaves request, neither for a wrong argument (rule 3.9) nor from the "
            "source or the subscriber. KeyboardInterrupt, SystemExit and other BaseExceptions pass "
            "through."
        ),
        related=("2.13", "3.9", "3.15"),
        checklist="-",
        history=history(
            v1_0_0=(
                "First appears; both drafts let it raise for n <= 0, the notes also after cancel. "
                "A second sentence leaves on_error as the one way to signal failure."
            ),
            v1_0_1="The second sentence is in the glossary, under return normally.",
        ),
    ),
    Rule(
        number="3.17",
        binds=Party.SUBSCRIPTION,
        strength=Strength.MUST,
        summary="demand counts up to 2**63 - 1 and never overflows",
        text=(
            "A subscription MUST take any number of requests and MUST support a demand of 2**63 - "
            "1. A demand of that size or more MAY be treated as unbounded."
        ),
        intent=(
            "No number of requests is wrong, and no sum of them overflows. At a billion elements a "
            "second, 2**63 - 1 of them last 292 years, so there is no point in counting further."
        ),
        python=(
            "An int does not overflow. UNBOUNDED is 2**63 - 1, and a demand that reaches it stays "
            "there, so request(10**30) is fine."
        ),
        related=("1.1", "3.8", "3.9"),
        history=history(
            draft="A publisher counts pending elements up to 2^63-1, safe from overflow.",
            v1_0_0=(
                "A duty of the subscription: any number of calls, and a demand (requested minus "
                "delivered) up to 2^63-1, from which point on it may count as unbounded."
            ),
            v1_0_1="Shorter, as the glossary defines demand. The footnote is in the intent.",
        ),
    ),
)
