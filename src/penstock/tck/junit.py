"""The report as JUnit XML, which continuous integration shows: one test case for each check."""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree

from penstock.tck.outcome import Outcome, RuleStatus, explain, sortable
from penstock.tck.report import Report

__all__ = ["to_junit"]

_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold in any form."""


def to_junit(report: Report) -> bytes:
    """The whole document. What is not claimed is skipped, what is undecided is an error."""
    cases = [_case(report, outcome) for outcome in report.outcomes]
    suite = ElementTree.Element(
        "testsuite",
        name=_clean(f"{report.kind} {report.subject}"),
        tests=str(len(cases)),
        failures=_count(cases, "failure"),
        errors=_count(cases, "error"),
        skipped=_count(cases, "skipped"),
        time=f"{report.seconds:.3f}",
    )
    suite.extend(cases)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    document: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document


def _case(report: Report, outcome: Outcome) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        # A dot would begin another package in the trees that most tools show.
        classname=f"tck.{report.kind}.rule_{sortable(outcome.rule)}",
        name=outcome.check,
        time=f"{outcome.seconds:.3f}",
    )
    if outcome.status is RuleStatus.NOT_CLAIMED:
        ElementTree.SubElement(case, "skipped", message=_clean(f"not claimed: {outcome.detail}"))
    elif outcome.status is not RuleStatus.VERIFIED:
        case.append(_fault(report, outcome))
    return case


def _fault(report: Report, outcome: Outcome) -> ElementTree.Element:
    title = text = outcome.detail
    if failure := outcome.failure:
        title, text = failure.title, explain(failure, replay=report.replay_command(failure))
    tag = "failure" if outcome.status is RuleStatus.FAILED else "error"
    fault = ElementTree.Element(tag, message=_clean(title), type=outcome.status.value)
    fault.text = _clean(text)
    return fault


def _count(cases: list[ElementTree.Element], tag: str) -> str:
    return str(sum(case.find(tag) is not None for case in cases))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
