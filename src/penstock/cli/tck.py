"""``penstock tck``: verifies what a factory makes against the rules, without a test file.

The subject is loaded in the process that runs the kit, and nowhere else: its threads live there.
"""

from __future__ import annotations

import inspect
import json
import os
import shlex
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures.thread import _threads_queues
from contextlib import redirect_stdout
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import click

from penstock.cli.arguments import load
from penstock.cli.failures import BadInput
from penstock.java import JavaUnavailable
from penstock.rules.catalogue import unknown
from penstock.runtime import shorten
from penstock.tck.explorer.search import Schedule
from penstock.tck.junit import to_junit
from penstock.tck.jvm.official_kit import Subject, opens_the_box, subject_of
from penstock.tck.jvm.runner import judge
from penstock.tck.real_environment import DisposableThread
from penstock.tck.report import Report, RuleStatus, render
from penstock.tck.verifying import KINDS, Kind

__all__ = ["command", "read_claims"]


_PIPED_WIDTH: Final = 80
_WIDEST: Final = 120
_FAREWELL: Final = 2.0
"""Seconds that threads of the subject get to end when all is said."""

_COLOURS: Final[Mapping[RuleStatus, Mapping[str, Any]]] = {
    RuleStatus.VERIFIED: {"fg": "green"},
    RuleStatus.FAILED: {"fg": "red", "bold": True},
    RuleStatus.UNDECIDED: {"fg": "yellow"},
    RuleStatus.NOT_CLAIMED: {"dim": True},
}
_LIMIT: Final = 3.0
"""Seconds after which a factory counts as hanging."""
_ELEMENTS: Final = 3
_WORDS: Final = {"true": True, "yes": True, "false": False, "no": False}
_SIGNALS: Final = ("on_subscribe", "on_next", "on_error", "on_complete")


@click.command(name="tck")
@click.argument("factory", metavar="MODULE:FACTORY")
@click.option("--kind", type=click.Choice(list(KINDS)), help="What the factory makes.")
@click.option(
    "claims",
    "--claim",
    metavar="NAME=VALUE",
    multiple=True,
    help="Something that the subject can do beyond the least: multicast=true, "
    "max_elements=100, failed=MODULE:FUNCTION.",
)
@click.option("rules", "--rule", metavar="NUMBER", multiple=True, help="Verify only this rule.")
@click.option("checks", "--check", metavar="NAME", multiple=True, help="Run only this check.")
@click.option("--schedule", metavar="SCHEDULE", help="Replay the one --check under this schedule.")
@click.option("--jvm", is_flag=True, help="Let the official Java kit judge; needs a JDK.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option(
    "--junit-xml",
    metavar="FILE",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the report as JUnit XML, too.",
)
@click.pass_context
def command(
    context: click.Context,
    factory: str,
    kind: str | None,
    claims: tuple[str, ...],
    rules: tuple[str, ...],
    checks: tuple[str, ...],
    schedule: str | None,
    jvm: bool,
    as_json: bool,
    junit_xml: Path | None,
) -> None:
    """Verify a publisher, subscriber or processor against the 43 rules.

    MODULE:FACTORY is a function or a class. For a publisher it takes the number of elements, for
    the others nothing, and it returns a new one each time. Modules of the current directory are
    found. What the subject prints is not shown.

    The exit code is 0 when every rule that is claimed holds, 1 when one is broken, and 2 when a
    mistake in the arguments left nothing to verify.

    \b
    Options that take a NAME, a NUMBER or a claim may be repeated.
    Examples:
      penstock tck prices:make_publisher
      penstock tck prices:make_publisher --claim multicast=true --rule 1.11
      penstock tck prices:Printer --kind subscriber
      penstock tck --jvm prices:make_publisher
    """
    threads = set(threading.enumerate())
    code = 1
    with Path(os.devnull).open("w") as nowhere:
        try:
            with redirect_stdout(nowhere):
                _check_target(junit_xml)
                prepare = _prepare_outside if jvm else _prepare
                verify = prepare(factory, kind, claims, rules, checks, schedule)
        except ValueError as error:
            raise BadInput(str(error)) from None
        try:
            with redirect_stdout(nowhere):
                report = verify()
            _publish(report, as_json, junit_xml, trail=schedule is not None)
            code = 0 if report.passed else 1
        finally:
            _do_not_wait_for(set(threading.enumerate()) - threads, code)
    context.exit(code)


def _prepare(
    reference: str,
    kind: str | None,
    claims: tuple[str, ...],
    rules: tuple[str, ...],
    checks: tuple[str, ...],
    schedule: str | None,
) -> Callable[[], Report]:
    """All that can be wrong with the arguments is found here; the rest is for the report."""
    factory = load_factory(reference)
    party = load_kind(kind, reference, factory)
    claimed = read_claims(party, claims)
    selected = party.select(rules or None, checks or None)
    _check_schedule(schedule, checks)
    _announce(len(selected), party.name)
    return partial(
        party.verify,
        factory,
        claimed,
        rules=rules or None,
        checks=checks or None,
        schedule=schedule,
        command=_command(reference, kind, claims),
    )


def _prepare_outside(
    reference: str,
    kind: str | None,
    claims: tuple[str, ...],
    rules: tuple[str, ...],
    checks: tuple[str, ...],
    schedule: str | None,
) -> Callable[[], Report]:
    """The subject itself is loaded where the official kit runs."""
    if schedule is not None:
        raise ValueError("--schedule replays what the own kit has seen; leave out --jvm")
    if sys.stderr.isatty():
        click.secho("Running the official kit ...", dim=True, err=True)
    command = f"{_command(reference, kind, claims)} --jvm"
    return partial(_judge_outside, reference, kind, claims, rules, checks, command)


def _judge_outside(
    reference: str,
    kind: str | None,
    claims: tuple[str, ...],
    rules: tuple[str, ...],
    tests: tuple[str, ...],
    command: str,
) -> Report:
    """The verdict of the official kit."""
    load = partial(_load_subjects, reference, kind, claims, rules, tests)
    try:
        (report,) = judge(load, fresh=True, command=command)
    except (JavaUnavailable, ValueError) as error:
        raise BadInput(str(error)) from None
    return report


def _load_subjects(
    reference: str,
    kind: str | None,
    claims: tuple[str, ...],
    rules: tuple[str, ...],
    tests: tuple[str, ...],
) -> list[Subject]:
    factory = load_factory(reference)
    party = load_kind(kind, reference, factory)
    claimed = read_claims(party, claims)
    whitebox = party.name == "subscriber" and opens_the_box(claimed)
    return [
        subject_of(
            party.name,
            factory,
            claimed,
            whitebox=whitebox,
            rules=rules or None,
            tests=tests or None,
        )
    ]


def _check_schedule(schedule: str | None, checks: tuple[str, ...]) -> None:
    if schedule is not None:
        Schedule.parse(schedule)
        if len(checks) != 1:
            raise ValueError("--schedule replays one check; name it by one --check")


def _check_target(junit_xml: Path | None) -> None:
    if junit_xml is not None and not junit_xml.parent.is_dir():
        raise ValueError(f"there is no directory {str(junit_xml.parent)!r} for --junit-xml")


def _command(factory: str, kind: str | None, claims: tuple[str, ...]) -> str:
    words = ["penstock", "tck", factory]
    words += ["--kind", kind] if kind else []
    words += [word for claim in claims for word in ("--claim", claim)]
    return shlex.join(words)


def _announce(checks: int, kind: str) -> None:
    if sys.stderr.isatty():
        click.secho(f"Running {checks} checks for a {kind} ...", dim=True, err=True)


def _publish(report: Report, as_json: bool, junit_xml: Path | None, trail: bool) -> None:
    if junit_xml is not None:
        junit_xml.write_bytes(to_junit(report))
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2))
    else:
        click.echo(render(report, width=_page_width(), paint=_paint, trail=trail))


def _paint(status: RuleStatus, text: str) -> str:
    return click.style(text, **_COLOURS[status])


def _page_width() -> int:
    if not sys.stdout.isatty():
        return _PIPED_WIDTH
    return min(shutil.get_terminal_size().columns, _WIDEST)


def _do_not_wait_for(threads: set[threading.Thread], code: int) -> None:
    """End the process soon, even if a subject has left threads that never end."""

    def leave() -> None:
        time.sleep(_FAREWELL)
        click.echo(f"Left without waiting for {', '.join(names)}.", err=True)
        os._exit(code)

    names = sorted(thread.name for thread in threads if _is_waited_for(thread))
    if names:
        threading.Thread(target=leave, daemon=True).start()


def _is_waited_for(thread: threading.Thread) -> bool:
    """Whether Python waits for that thread at exit; of a pool, it waits for every worker."""
    return not thread.daemon or thread in _threads_queues


def load_factory(reference: str) -> Callable[..., Any]:
    """The factory that ``module:name`` refers to."""
    factory: Callable[..., Any] = load(reference)
    if not callable(factory):
        raise ValueError(f"{reference} is {shorten(factory)}, which is no function and no class")
    return factory


def load_kind(name: str | None, reference: str, factory: Callable[..., Any]) -> Kind:
    """The kind of that name, or the kind of what ``factory`` makes."""
    if name is None:
        # A class shows what its instances can do, and need not be called.
        name = _party(factory) if inspect.isclass(factory) else None
        name = name or _party_made_by(reference, factory)
    return KINDS[name]


def read_claims(kind: Kind, texts: Iterable[str]) -> dict[str, Any]:
    """The claims from texts such as ``multicast=true``."""
    return dict(_read_claim(kind, text) for text in texts)


def _read_claim(kind: Kind, text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    names = [field.name for field in fields(kind.claims)]
    if name not in names:
        raise unknown("claim", name, allowed=", ".join(names), names=names)
    hint = get_type_hints(kind.claims)[name]
    if hint is bool:
        return name, _read_bool(name, value)
    if int in (hint, *get_args(hint)):
        return name, _read_int(name, value)
    function = load(value)
    if not callable(function):
        raise ValueError(f"the claim {name} takes a function, and {value} is {shorten(function)}")
    return name, function


def _read_bool(name: str, value: str) -> bool:
    if value.lower() not in _WORDS:
        raise ValueError(f"the claim {name} is {' or '.join(_WORDS)}, not {value!r}")
    return _WORDS[value.lower()]


def _read_int(name: str, value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError(f"the claim {name} is a number above zero, not {value!r}")
    return number


def _party_made_by(reference: str, factory: Callable[..., Any]) -> str:
    arguments = (_ELEMENTS,) if _takes_an_argument(factory) else ()
    call = f"{reference}({', '.join(map(str, arguments))})"
    made = _called(call, lambda: factory(*arguments))
    party = _party(made)
    if party is None:
        raise ValueError(
            f"{call} returned {shorten(made)}, which is neither a publisher (subscribe) nor a "
            f"subscriber ({', '.join(_SIGNALS)})"
        )
    return party


def _party(thing: object) -> str | None:
    """What a thing is by its methods: a processor has those of both."""
    publishes = callable(getattr(thing, "subscribe", None))
    subscribes = all(callable(getattr(thing, signal, None)) for signal in _SIGNALS)
    if publishes and subscribes:
        return "processor"
    return "publisher" if publishes else "subscriber" if subscribes else None


def _takes_an_argument(factory: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except ValueError:
        return True  # written in C, without a signature
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(each.kind in positional and each.default is each.empty for each in parameters)


def _called(what: str, call: Callable[[], Any]) -> Any:
    """The result of a call that may raise or hang."""
    results: list[Any] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = DisposableThread(body, name="factory")
    thread.start()
    if not thread.returns_within(_LIMIT):
        place = thread.place
        thread.end()
        raise ValueError(f"{what} did not return within {_LIMIT:g} s; it is at {place}")
    if errors:
        raise ValueError(f"{what} raised {shorten(errors[0])}")
    return results[0]
