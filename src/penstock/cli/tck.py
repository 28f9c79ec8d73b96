"""``penstock tck``: verifies what a factory makes against the rules, without a test file.

The subject is loaded in the process that runs the kit, and nowhere else: its threads live there.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures.thread import _threads_queues
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from penstock.cli.subject import load_factory, load_kind, read_claims
from penstock.tck.explorer.search import Schedule
from penstock.tck.junit import to_junit
from penstock.tck.jvm.official_kit import Subject, opens_the_box, subject_of
from penstock.tck.jvm.runner import judge
from penstock.tck.report import Report, RuleStatus, render
from penstock.tck.verifying import KINDS

__all__ = [
    "command",
    "judge_outside",
]


def judge_outside(
    reference: str,
    kind: str | None,
    claims: tuple[str, ...],
    rules: tuple[str, ...],
    tests: tuple[str, ...],
    command: str,
) -> Report:
    """The verdict of the official kit."""
    load = partial(_load, reference, kind, claims, rules, tests)
    (report,) = judge(load, fresh=True, command=command)
    return report


def _load(
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


class _BadInput(click.ClickException):
    """One sentence on stderr, without the usage of the command."""

    exit_code = 2


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
    """Verify a publisher, a subscriber or a processor against the 43 rules.

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
            raise _BadInput(str(error)) from None
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


def _judge_outside(*arguments: Any) -> Report:
    from penstock.cli.tck import judge_outside
    from penstock.java import JavaUnavailable

    try:
        return judge_outside(*arguments)
    except (JavaUnavailable, ValueError) as error:
        raise _BadInput(str(error)) from None


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
