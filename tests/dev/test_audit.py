"""The audit says what it found, and when it could not ask, which is not the same as nothing."""

from __future__ import annotations

import json

import pytest

from dev import REQUIREMENT_SETS
from tests.dev.conftest import Checkout

BILL = """#!/bin/sh
while [ $# -gt 0 ]; do
    if [ "$1" = --output-file ]; then echo '{"bomFormat": "CycloneDX"}' > "$2"; fi
    shift
done
"""
AUDIT = """#!/bin/sh
echo "$@" > asked
cat <<'END'
{said}
END
exit {code}
"""
SOUND = {"name": "sound", "version": "1.0", "vulns": []}
FAULTY = {
    "name": "faulty",
    "version": "2.0",
    "vulns": [
        {"id": "ONE-1", "fix_versions": ["2.1", "3.0"]},
        {"id": "ONE-2", "fix_versions": []},
    ],
}
UNREACHABLE = "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='somewhere')"


def prepared(checkout: Checkout, said: str, code: int) -> Checkout:
    """A checkout whose tools answer so."""
    checkout.run("test")
    checkout.write_script(".venv/bin/cyclonedx-py", BILL)
    checkout.write_script(".venv/bin/pip-audit", AUDIT.format(said=said, code=code))
    return checkout


@pytest.mark.parametrize(
    ("said", "tool_code", "code", "shown"),
    [
        (json.dumps({"dependencies": [SOUND]}), 0, 0, "1 packages, 0 with known faults\n"),
        (
            "Found 2 known vulnerabilities\n" + json.dumps({"dependencies": [SOUND, FAULTY]}),
            1,
            1,
            (
                "faulty 2.0: ONE-1, fixed in 2.1, 3.0\n"
                "faulty 2.0: ONE-2, fixed in no version yet\n"
                "2 packages, 1 with known faults\n"
            ),
        ),
    ],
)
def test_known_faults_are_listed_and_decide_the_exit_code(
    checkout: Checkout, said: str, tool_code: int, code: int, shown: str
) -> None:
    found, output, _ = prepared(checkout, said, tool_code).run("audit")
    assert found == code
    assert output == f"The bill of materials: {checkout.root}/dist/penstock.cdx.json\n{shown}"
    asked = (checkout.root / "asked").read_text()
    assert all(f"--requirement=requirements/{name}.txt" in asked for name in REQUIREMENT_SETS)


def test_a_database_that_cannot_be_reached_has_an_exit_code_and_a_line_of_its_own(
    checkout: Checkout,
) -> None:
    said = f"Traceback (most recent call last):\n  a line\n{UNREACHABLE}"
    code, _, errors = prepared(checkout, said, 1).run("audit")
    assert code == 3
    assert errors.endswith(
        "dev.py: NOT AUDITED: the database of known faults, OSV, cannot be reached from here.\n"
    )
    assert "Traceback" not in errors
    bill = json.loads((checkout.root / "dist" / "penstock.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"


def test_another_failure_is_told_in_full(checkout: Checkout) -> None:
    code, _, errors = prepared(checkout, "ERROR: a hash is missing", 1).run("audit")
    assert code == 2
    assert "pip-audit failed, with exit code 1:\nERROR: a hash is missing" in errors
