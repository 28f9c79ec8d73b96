"""A Java is packaged into the environment where the machine has none, and only there."""

from __future__ import annotations

import pytest

from tests.dev.conftest import Checkout

KNOWS_NO_JAVA = """#!/bin/sh
if [ "$*" = "-m penstock.java" ] && ! grep -q requirements/java.txt calls; then exit 1; fi
echo "python $*"
"""
INSTALLED = "requirements/java.txt"


@pytest.mark.parametrize(
    ("command", "runs"),
    [("demo", "python -m penstock.demo\n"), ("java", "python -m penstock.java\n")],
)
def test_where_penstock_finds_a_java_none_is_installed(
    checkout: Checkout, command: str, runs: str
) -> None:
    code, output, _ = checkout.run(command)
    assert (code, output) == (0, runs)
    assert INSTALLED not in calls(checkout)


@pytest.mark.parametrize(
    ("command", "runs"),
    [("demo", "python -m penstock.demo\n"), ("java", "python -m penstock.java\n")],
)
def test_where_penstock_finds_none_one_is_installed_before_the_command(
    checkout: Checkout, command: str, runs: str
) -> None:
    checkout.write_script("tool", KNOWS_NO_JAVA)
    code, output, _ = checkout.run(command)
    assert (code, output) == (0, runs)
    assert calls(checkout).count(INSTALLED) == 1


def test_no_command_changes_the_java_that_the_user_has_chosen(checkout: Checkout) -> None:
    checkout.write_script("tool", '#!/bin/sh\necho "$JAVA_HOME"\n')
    checkout.variables["JAVA_HOME"] = "/my/java"
    assert checkout.run("demo")[1] == "/my/java\n"


def calls(checkout: Checkout) -> str:
    return (checkout.root / "calls").read_text()
