"""With pytest, each check is a test that tells its own failure, and can be replayed."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

import penstock
import penstock.tck
from penstock.tck import PublisherVerification, SubscriberWhiteboxVerification
from penstock.tck.verifying import KINDS
from tests.style.project import ROOT

TESTS = '''
import pytest

from penstock import IdentityProcessor, IterablePublisher, SyncSubscriber
from penstock.tck import (
    ProcessorVerification,
    PublisherVerification,
    SubscriberBlackboxVerification,
    SubscriberWhiteboxVerification,
)
from penstock.testing import ManualSubscriber


class GreedySubscription:
    """Sends one element more than was requested."""

    def __init__(self, subscriber):
        self.subscriber = subscriber

    def request(self, n):
        for _ in range(n + 1):
            self.subscriber.on_next(n)

    def cancel(self):
        pass


class Greedy:
    def subscribe(self, subscriber):
        subscriber.on_subscribe(GreedySubscription(subscriber))


class TestSound(PublisherVerification):
    @pytest.fixture(autouse=True)
    def prepare(self):
        self.sequence = range

    def create_publisher(self, elements):
        return IterablePublisher(self.sequence(elements))


class TestSmall(PublisherVerification):
    max_elements = 1

    def create_publisher(self, elements):
        assert elements <= 1
        return IterablePublisher(range(elements))


class TestFailing(PublisherVerification):
    def create_publisher(self, elements):
        return IterablePublisher(range(elements))

    def create_failed_publisher(self):
        return IterablePublisher(1 / number for number in [1, 0])


class TestGreedy(PublisherVerification):
    def create_publisher(self, elements):
        return Greedy()


class TestForgetful(PublisherVerification):
    pass


class BaseOfOurs(PublisherVerification):
    def create_publisher(self, elements):
        return IterablePublisher(range(elements))


class TestInherited(BaseOfOurs):
    def test_rule_1_02_own_words(self):
        pass


class Sum(SyncSubscriber):
    def receive(self, element):
        return True


class TestBlackbox(SubscriberBlackboxVerification):
    def create_subscriber(self):
        return Sum()


class TestProcessor(ProcessorVerification):
    def create_processor(self):
        return IdentityProcessor()


class TestWhitebox(SubscriberWhiteboxVerification):
    def create_subscriber(self):
        return ManualSubscriber()

    def puppet(self, subscriber):
        return subscriber

    def received(self, subscriber):
        return subscriber.elements
'''


CHANGE_WHAT_IS_SHOWN = {"BUILD_NUMBER", "CI", "COLUMNS", "FORCE_COLOR", "PY_COLORS"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verification")
    (folder / "test_streams.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")  # or pytest would look for one further up
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest with no plugin but ours, installed or not."""
    source = str(Path(penstock.__path__[0]).parent)
    loaded = ["-p", "penstock.tck.plugin", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *loaded, *arguments],
        check=False,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        env={**own_variables(), "PYTHONPATH": source, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        timeout=100,
    )


def own_variables() -> dict[str, str]:
    """All but those by which the pytest outside would change what the one inside does or shows."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in CHANGE_WHAT_IS_SHOWN and not name.startswith("PYTEST_")
    }


def test_every_check_of_the_suite_is_one_test_with_a_readable_name(folder: Path) -> None:
    done = run(folder, "--collect-only", "-q", "-k", "TestSound or TestBlackbox")
    names = re.findall(r"^test_streams.py::(\w+)::(test_\w+)$", done.stdout, re.MULTILINE)
    publishers = [name for owner, name in names if owner == "TestSound"]
    assert "test_rule_1_01_sends_what_was_requested_and_no_more" in publishers
    assert len(publishers) == len(KINDS["publisher"].suite)
    assert len(names) - len(publishers) == len(KINDS["subscriber"].suite)


def test_the_classes_to_inherit_from_are_not_collected(folder: Path) -> None:
    done = run(folder, "--collect-only", "-q", "-o", "python_classes=*")
    owners = set(re.findall(r"^test_streams.py::(\w+)::", done.stdout, re.MULTILINE))
    assert {"TestSound", "TestBlackbox", "BaseOfOurs"} <= owners
    assert not {name for name in owners if name.endswith("Verification")}


def test_a_sound_publisher_passes_and_its_fixtures_are_in_place(folder: Path) -> None:
    done = run(folder, "-q", "-k", "TestSound and rule_1_01")
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d+ passed, \d+ deselected in", done.stdout, re.MULTILINE), done.stdout


def test_a_subclass_may_inherit_from_a_base_of_its_own_and_add_tests(folder: Path) -> None:
    done = run(folder, "-v", "-k", "TestInherited and (rule_1_01 or own_words)")
    assert done.returncode == 0, done.stdout
    assert "test_streams.py::TestInherited::test_rule_1_02_own_words PASSED" in done.stdout


def test_a_failure_shows_its_full_text_and_no_code_of_the_kit(folder: Path) -> None:
    done = run(folder, "-q", "-k", "TestGreedy and sends_what_was_requested_and_no_more")
    assert done.returncode == 1
    assert (
        "\nrule 1.1 is broken: the publisher sent element number 2, beyond a demand of 1\n"
        in done.stdout
    )
    assert "  What happened:\n    1  0.000 s" in done.stdout
    assert "  What to change  " in done.stdout
    assert "verification.py" not in done.stdout


def test_the_place_of_a_test_is_the_class_of_the_user(folder: Path) -> None:
    done = run(folder, "-v", "-k", "TestSound and sends_what_was_requested_and_no_more")
    assert "<-" not in done.stdout


def test_the_command_that_a_failure_shows_replays_exactly_that_failure(folder: Path) -> None:
    first = run(folder, "-q", "-k", "TestGreedy and sends_what_was and not within")
    (command,) = re.findall(r"^ +pytest (.*)$", first.stdout, re.MULTILINE)
    assert "--tck-schedule=" in command
    again = run(folder, "-q", *shlex.split(command))
    assert again.returncode == 1
    assert (
        "rule 1.1 is broken: the publisher sent element number 2, beyond a demand of 1"
        in again.stdout
    )
    assert "  Thread by thread:\n" in again.stdout


def test_a_schedule_is_refused_for_more_than_one_test(folder: Path) -> None:
    version = f"py{sys.version_info.major}.{sys.version_info.minor}"
    schedule = f"--tck-schedule=v1:{version}:sync:-"
    done = run(folder, "-q", schedule, "-k", "TestSound and rule_1_01")
    assert done.returncode == 1
    assert re.search(r"--tck-schedule replays one test, and \d+ are selected", done.stdout)


def test_a_text_that_is_no_schedule_is_refused_at_once(folder: Path) -> None:
    done = run(folder, "-q", "--tck-schedule=soon")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--tck-schedule: schedule 'soon' does not have four parts" in done.stderr


def test_what_is_not_claimed_is_listed_and_counted_apart_from_what_passed(folder: Path) -> None:
    done = run(folder, "-k", "TestSound and (rule_1_04 or rule_1_11)")
    assert done.returncode == 0, done.stdout
    summary = done.stdout.partition("= not claimed, so not verified =")[2]
    assert "test_streams.py::TestSound needs the claim multicast:\n    test_rule_1_11_" in summary
    assert re.search(r"^=+ .*\d+ not claimed.* in .*=+$", summary, re.MULTILINE)


def test_a_class_attribute_is_a_claim(folder: Path) -> None:
    done = run(folder, "-k", "TestSmall and rule_3_03")
    assert "max_elements is 1" in done.stdout


def test_a_method_is_a_claim_where_the_claim_is_a_function(folder: Path) -> None:
    lacking = "needs the claim failed:"
    assert lacking in run(folder, "-k", "TestSound and rule_1_04").stdout
    done = run(folder, "-k", "TestFailing and rule_1_04")
    assert done.returncode == 0, done.stdout
    assert lacking not in done.stdout


def test_a_class_that_makes_nothing_says_what_it_must_define(folder: Path) -> None:
    done = run(folder, "-q", "-k", "TestForgetful and rule_1_01")
    assert done.returncode == 1
    assert "TestForgetful must define create_publisher(self, elements)" in done.stdout


def test_a_check_that_ran_into_another_fault_is_no_success(folder: Path) -> None:
    done = run(folder, "-q", "-k", "TestGreedy and rule_3_02")
    assert done.returncode == 1
    assert "rule 3.2 is undecided, since rule 1.1 is broken" in done.stdout


def test_a_sound_processor_passes_on_both_sides(folder: Path) -> None:
    done = run(folder, "-q", "-k", "TestProcessor and (rule_1_01 or rule_2_01)")
    assert done.returncode == 0, done.stdout
    assert re.search(r"^[4-9] passed, \d+ deselected in", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("owner", ["TestBlackbox", "TestWhitebox"])
def test_a_sound_subscriber_passes_from_outside_and_with_its_box_open(
    folder: Path, owner: str
) -> None:
    done = run(folder, "-q", "-k", f"{owner} and (rule_2_01 or rule_3_08)")
    assert done.returncode == 0, done.stdout
    assert ("needs the claim puppet:" in done.stdout) == (owner == "TestBlackbox")


def test_workers_of_xdist_report_what_is_not_claimed(folder: Path) -> None:
    selection = "TestSound and (rule_1_01 or rule_1_11)"
    done = run(folder, "-p", "xdist", "-n2", "-q", "-k", selection)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_streams.py::TestSound needs the claim multicast:" in done.stdout
    assert re.search(r"^\d+ passed, \d+ not claimed in", done.stdout, re.MULTILINE)


def test_junit_xml_of_pytest_says_what_is_not_claimed(folder: Path) -> None:
    target = folder / "junit.xml"
    run(folder, "-q", "-k", "TestSound and rule_1_11", f"--junit-xml={target}")
    properties = ElementTree.parse(target).getroot().iter("property")
    assert {"not claimed"} == {each.get("name") for each in properties}


def test_without_the_plugin_the_classes_still_work(folder: Path) -> None:
    done = run(folder, "-p", "no:penstock.tck.plugin", "-q", "-k", "TestSound and rule_1_01")
    assert done.returncode == 0, done.stdout


def test_pytest_finds_the_plugin_by_the_entry_point_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"penstock": "penstock.tck.plugin"}


def test_the_plugin_loads_nothing_of_the_kit_but_its_words() -> None:
    code = "import penstock.tck.plugin, sys; print(*sys.modules)"
    source = str(Path(penstock.__path__[0]).parent)
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": source},
    )
    loaded = {name for name in done.stdout.split() if name.startswith("penstock.tck")}
    assert "penstock.tck.plugin" in loaded
    assert loaded & {"penstock.tck.explorer", "penstock.tck.judge", "penstock.tck.checks"} == set()


def test_no_submodule_hides_the_name_that_it_is_the_home_of() -> None:
    homes = [each.name for each in pkgutil.iter_modules(penstock.tck.__path__, "penstock.tck.")]
    for home in homes:
        importlib.import_module(home)
    modules = [n for n in penstock.tck.__all__ if isinstance(getattr(penstock.tck, n), ModuleType)]
    assert modules == []


class OwnTest(PublisherVerification):
    """Replaces one of the tests by its own."""

    def test_rule_1_01_sends_what_was_requested_and_no_more(self) -> None:
        """Its own."""


class HeirOfOwnTest(OwnTest):
    """Inherits the replacement."""


@pytest.mark.parametrize("owner", [OwnTest, HeirOfOwnTest])
def test_a_test_of_the_subclass_stays_in_its_place(owner: type[PublisherVerification]) -> None:
    name = "test_rule_1_01_sends_what_was_requested_and_no_more"
    assert getattr(owner, name).__doc__ == "Its own."


@pytest.mark.parametrize("method", ["puppet", "received"])
def test_a_whitebox_says_what_it_must_define(method: str) -> None:
    with pytest.raises(NotImplementedError, match=f"must define {method}"):
        getattr(SubscriberWhiteboxVerification(), method)(None)
