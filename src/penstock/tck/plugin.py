"""The pytest plugin of the kit: replays schedules, and shows what was not claimed.

Every pytest run in an environment with Penstock loads it, so it loads nothing of the kit itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from penstock.tck.outcome import RuleStatus

__all__: list[str] = []

NOT_CLAIMED = RuleStatus.NOT_CLAIMED.value


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("penstock", "conformance to Reactive Streams").addoption(
        "--tck-schedule",
        metavar="SCHEDULE",
        help="replay exactly this schedule, which a failure has shown, in the selected test",
    )


def pytest_configure(config: pytest.Config) -> None:
    schedule = config.getoption("tck_schedule")
    if schedule is not None:
        from penstock.tck.explorer.search import Schedule

        try:
            Schedule.parse(schedule)
        except ValueError as error:
            raise pytest.UsageError(f"--tck-schedule: {error}") from None


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    if isinstance(report, pytest.TestReport) and report.when == "call" and reason(report):
        return NOT_CLAIMED, "n", (NOT_CLAIMED.upper(), {"yellow": True})
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports: Iterable[pytest.TestReport] = terminalreporter.stats.get(NOT_CLAIMED, ())
    tests: dict[tuple[str, str], list[str]] = {}
    for report in reports:
        owner, _, test = report.nodeid.rpartition("::")
        tests.setdefault((owner, reason(report)), []).append(test)
    if tests:
        terminalreporter.section("not claimed, so not verified")
    for (owner, lacking), names in sorted(tests.items()):
        terminalreporter.write_line(f"{owner} {lacking}:")
        for name in sorted(names):
            terminalreporter.write_line(f"    {name}")


def reason(report: pytest.TestReport) -> str:
    """Why the check did not run, if it was for want of a claim."""
    return str(dict(report.user_properties).get(NOT_CLAIMED, ""))
