"""Known faults of what is locked, and the bill of materials.

Only the standard library, and no syntax newer than Python 3.8: see ``dev.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tools.environment import Environment, Problem, say

BILL = "dist/penstock.cdx.json"
SECONDS = "20"
NONE_KNOWN, SOME_KNOWN, NOT_ASKED = 0, 1, 3
# What pip-audit lets through of the library by which it asks.
UNREACHABLE = ("ConnectionError", "ConnectTimeout", "ReadTimeout", "ProxyError", "SSLError")


def write_bill(environment: Environment) -> Path:
    """Write down what the environment is made of, in the format CycloneDX."""
    target = environment.root / BILL
    target.parent.mkdir(exist_ok=True)
    code, output = environment.call(
        "cyclonedx-py", "environment", "--pyproject", "pyproject.toml", "--output-reproducible",
        "--output-format", "JSON", "--output-file", str(target), str(environment.python),
    )  # fmt: skip
    if code:
        raise Problem(f"the bill of materials cannot be written:\n{output}")
    return target


def look_for_faults(environment: Environment, sets: Iterable[str]) -> int:
    """Ask for the known faults of each locked version; the exit code says how that went."""
    files = [f"--requirement=requirements/{name}.txt" for name in sets]
    code, output = environment.call(
        "pip-audit", "--format=json", "--vulnerability-service=osv", "--disable-pip",
        "--require-hashes", "--progress-spinner=off", f"--timeout={SECONDS}", *files,
    )  # fmt: skip
    report = report_in(output)
    if report is None:
        if not any(word in output for word in UNREACHABLE):
            raise Problem(f"pip-audit failed, with exit code {code}:\n{output}")
        say("NOT AUDITED: the database of known faults, OSV, cannot be reached from here.")
        return NOT_ASKED
    faulty = [each for each in report["dependencies"] if each.get("vulns")]
    for each in faulty:
        for fault in each["vulns"]:
            fixed = ", ".join(fault["fix_versions"]) or "no version yet"
            print(f"{each['name']} {each['version']}: {fault['id']}, fixed in {fixed}")
    print(f"{len(report['dependencies'])} packages, {len(faulty)} with known faults")
    return SOME_KNOWN if faulty else NONE_KNOWN


def report_in(output: str) -> Any:
    """The report, which stands on a line of its own among what else was printed."""
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                continue
    return None
