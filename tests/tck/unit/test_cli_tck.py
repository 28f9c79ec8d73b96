"""``penstock tck`` verifies what a factory makes, and answers each mistake by one sentence."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

import penstock
from penstock.cli.application import application
from penstock.cli.tck import read_claims
from penstock.tck import Report
from penstock.tck.verifying import KINDS

SUBJECTS = '''
import threading
from concurrent.futures import ThreadPoolExecutor

from penstock import ExecutorPublisher, IdentityProcessor, IterablePublisher, ThreadPool


def sound(n):
    print("the subject prints")
    return IterablePublisher(range(n))


POOL = ThreadPool()


def on_a_shared_pool(n):
    return ExecutorPublisher(range(n), POOL)


def failed():
    return IterablePublisher(iter(int, 1))


class Greedy:
    """Sends one element more than was requested."""

    def __init__(self, n):
        self.n = n

    def subscribe(self, subscriber):
        subscriber.on_subscribe(GreedySubscription(subscriber))


class GreedySubscription:
    def __init__(self, subscriber):
        self.subscriber = subscriber

    def request(self, n):
        for _ in range(n + 1):
            self.subscriber.on_next(n)

    def cancel(self):
        pass


class Haunted:
    """Leaves a thread behind that never ends."""

    pooled = False

    def __init__(self, n):
        self.publisher = IterablePublisher(range(n))

    def subscribe(self, subscriber):
        wait = threading.Event().wait
        if self.pooled:
            ThreadPoolExecutor(thread_name_prefix="ghost").submit(wait)
        else:
            threading.Thread(target=wait, name="ghost", daemon=False).start()
        self.publisher.subscribe(subscriber)


class HauntedPool(Haunted):
    pooled = True


class Mute:
    """Never asks for anything."""

    def on_subscribe(self, subscription):
        pass

    def on_next(self, element):
        pass

    def on_error(self, error):
        pass

    def on_complete(self):
        pass


def processor():
    return IdentityProcessor()


def raises(n):
    raise ArithmeticError("no luck")


def returns_nothing(n):
    pass


def hangs(n):
    threading.Event().wait()


def leaves(n):
    raise SystemExit("enough")


number = 3
'''

FAULTY_MODULE = """
print("imported")
raise LookupError("not today")
"""

NEEDY_MODULE = """
import a_module_that_nobody_has
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("subjects")
    (folder / "tck_subjects.py").write_text(SUBJECTS)
    (folder / "tck_faulty.py").write_text(FAULTY_MODULE)
    (folder / "tck_needy.py").write_text(NEEDY_MODULE)
    (folder / "tck_garbled.py").write_text("make is make is = 3")
    return folder


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return folder


def tck(*arguments: str) -> Result:
    return CliRunner().invoke(application, ["tck", *arguments])


def tck_process(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(penstock.__path__[0]).parent)
    return subprocess.run(
        [sys.executable, "-c", "from penstock.cli import main; main()", "tck", *arguments],
        check=False,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": source},
        timeout=60,
    )


@pytest.mark.usefixtures("here")
def test_a_sound_publisher_passes_with_exit_code_0() -> None:
    done = tck("tck_subjects:sound", "--rule", "1.1")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Conformance of the publisher sound\n")
    assert "\npassed: 1 verified, 0 failed, 0 undecided, 0 not claimed, in " in done.output


def test_the_report_says_that_the_threads_of_a_shared_pool_are_beyond_control(folder: Path) -> None:
    done = tck_process(folder, "tck_subjects:on_a_shared_pool", "--rule", "1.1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1.1   verified  real time  " in done.stdout
    assert "The order of the subject's steps cannot be controlled" in done.stdout


@pytest.mark.usefixtures("here")
def test_a_processor_is_known_by_the_methods_of_both_sides() -> None:
    done = tck("tck_subjects:processor", "--rule", "3.9")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Conformance of the processor processor\n")


@pytest.mark.usefixtures("here")
def test_a_subscriber_is_known_by_its_methods() -> None:
    done = tck("tck_subjects:Mute", "--rule", "2.1")
    assert done.exit_code == 1
    assert done.output.startswith("Conformance of the subscriber Mute\n")
    assert "rule 2.1 is broken: request was never called" in done.output


@pytest.mark.usefixtures("here")
def test_a_publisher_that_breaks_a_rule_fails_with_exit_code_1() -> None:
    done = tck("tck_subjects:Greedy", "--rule", "1.1")
    assert done.exit_code == 1
    assert (
        "\nrule 1.1 is broken: the publisher sent element number 2, beyond a demand of 1\n"
        in done.output
    )
    assert "\nFAILED: 0 verified, 1 failed" in done.output


@pytest.mark.usefixtures("here")
def test_the_command_that_a_failure_shows_replays_exactly_that_failure() -> None:
    first = tck("tck_subjects:Greedy", "--kind", "publisher", "--rule", "1.1")
    (command,) = re.findall(r"^ +penstock tck (.*)$", first.output, re.MULTILINE)
    again = tck(*shlex.split(command))
    assert again.exit_code == 1
    fault = re.search(r"^rule .*$", first.output, re.MULTILINE)
    assert fault is not None
    assert f"\n{fault[0]}\n" in again.output
    assert "Thread by thread:" in again.output


@pytest.mark.usefixtures("here")
def test_a_schedule_under_which_all_is_well_is_replayed_with_exit_code_0() -> None:
    first = tck("tck_subjects:Greedy", "--rule", "1.1")
    (options,) = re.findall(r"--check .*$", first.output, re.MULTILINE)
    done = tck("tck_subjects:sound", *shlex.split(options))
    assert done.exit_code == 0, done.output


@pytest.mark.usefixtures("here")
def test_a_schedule_that_does_not_fit_leaves_the_rule_undecided() -> None:
    first = tck("tck_subjects:Greedy", "--rule", "1.1")
    (options,) = re.findall(r"--check .*$", first.output, re.MULTILINE)
    name, schedule = shlex.split(options)[1::2]
    done = tck("tck_subjects:sound", "--check", name, "--schedule", schedule[:-1] + "900>7")
    assert done.exit_code == 1
    assert "this schedule cannot be replayed" in done.output


def test_no_schedule_is_replayed_on_threads_that_were_there_before(folder: Path) -> None:
    name = next(iter(KINDS["publisher"].suite)).name
    version = f"py{sys.version_info.major}.{sys.version_info.minor}"
    replay = ["--check", name, "--schedule", f"v1:{version}:sync:-"]
    done = tck_process(folder, "tck_subjects:on_a_shared_pool", *replay)
    assert done.returncode == 1
    assert "no schedule can be replayed: the subject's threads were there before" in done.stdout


@pytest.mark.usefixtures("here")
def test_json_is_all_that_is_printed_even_if_the_subject_prints() -> None:
    done = tck("tck_subjects:sound", "--rule", "1.1", "--json")
    found = json.loads(done.stdout)
    assert (found["passed"], found["kind"]) == (True, "publisher")
    assert [row["rule"] for row in found["rules"]] == ["1.1"]


def test_junit_xml_is_written_next_to_the_text(here: Path) -> None:
    target = here / "report.xml"
    done = tck("tck_subjects:Greedy", "--rule", "1.1", "--junit-xml", str(target))
    assert done.output.startswith("Conformance")
    (suite,) = ElementTree.parse(target).getroot()
    assert suite.get("name") == "publisher Greedy"
    assert suite.get("failures") == suite.get("tests") != "0"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tck_subjects"], "'tck_subjects' refers to nothing; write module:name"),
        ([":sound"], "':sound' refers to nothing"),
        (["no_such_module:make"], "there is no module 'no_such_module', here or installed"),
        (["tck_subjects.inner:make"], "there is no module 'tck_subjects.inner'"),
        (["tck_needy:make"], "tck_needy needs 'a_module_that_nobody_has', which is not installed"),
        (["tck_faulty:make"], "importing tck_faulty raised LookupError: not today, at tck_faulty"),
        (["tck_garbled:make"], "raised SyntaxError: invalid syntax (tck_garbled.py, line 1)"),
        (["tck_subjects:soundd"], "there is no name 'soundd', only these in tck_subjects: sound"),
        (["tck_subjects:number"], "tck_subjects:number is 3, which is no function and no class"),
        (["tck_subjects:raises"], "raises(3) raised ArithmeticError('no luck')"),
        (["tck_subjects:returns_nothing"], "returned None, which is neither a publisher"),
        (["tck_subjects:sound", "--kind", "plumber"], "'plumber' is not"),
        (["tck_subjects:sound", "--claim", "multicats=true"], "did you mean 'multicast'?"),
        (["tck_subjects:sound", "--claim", "multicast=2"], "multicast is true or yes or false"),
        (["tck_subjects:sound", "--claim", "multicast"], "multicast is true or yes or false"),
        (["tck_subjects:sound", "--claim", "max_elements=0"], "max_elements is a number above"),
        (["tck_subjects:sound", "--claim", "max_elements=ten"], "max_elements is a number above"),
        (["tck_subjects:sound", "--claim", "failed=tck_subjects:number"], "takes a function, and"),
        (["tck_subjects:sound", "--claim", "failed=tck_subjects:x"], "there is no name 'x'"),
        (["tck_subjects:sound", "--rule", "1.99"], "there is no rule '1.99'"),
        (["tck_subjects:sound", "--check", "sings"], "there is no check 'sings', only the"),
        (["tck_subjects:sound", "--schedule", "soon"], "schedule 'soon' does not have four parts"),
        (["tck_subjects:sound", "--junit-xml", "nowhere/x.xml"], "there is no directory 'nowhere'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("here")
def test_a_mistake_is_answered_by_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str
) -> None:
    done = tck(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert sentence in done.stderr.splitlines()[-1]


@pytest.mark.usefixtures("here")
def test_a_schedule_needs_the_name_of_one_check() -> None:
    version = f"py{sys.version_info.major}.{sys.version_info.minor}"
    done = tck("tck_subjects:sound", "--schedule", f"v1:{version}:gil:-")
    assert done.exit_code == 2
    assert "--schedule replays one check; name it by one --check" in done.stderr


@pytest.mark.usefixtures("here")
def test_a_check_that_is_not_about_the_rules_asked_for_is_refused() -> None:
    name = next(iter(KINDS["publisher"].suite)).name
    done = tck("tck_subjects:sound", "--rule", "3.9", "--check", name)
    assert done.exit_code == 2
    assert f"{name} is not about 3.9" in done.stderr


@pytest.mark.usefixtures("here")
def test_a_factory_that_hangs_is_reported_with_the_place_where_it_hangs_and_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.cli.tck._LIMIT", 0.1)
    done = tck("tck_subjects:hangs")
    assert done.exit_code == 2
    assert "hangs(3) did not return within 0.1 s; it is at tck_subjects.py:" in done.stderr
    assert "factory" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.usefixtures("here")
def test_a_factory_that_leaves_the_program_is_reported_as_one_that_raises() -> None:
    done = tck("tck_subjects:leaves")
    assert done.exit_code == 2
    assert "leaves(3) raised SystemExit('enough')" in done.stderr


@pytest.mark.parametrize(
    ("factory", "fault"),
    [
        ("raises", "factory(3) raised ArithmeticError('no luck')"),
        ("returns_nothing", "factory(3) returned None, which has no subscribe"),
        ("number.conjugate", "factory(3) raised TypeError("),
        ("hangs", "factory(3) did not return within 0.1 s"),
    ],
)
@pytest.mark.usefixtures("here")
def test_with_the_kind_given_the_report_says_that_the_factory_does_not_work(
    factory: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.tck.preflight.LIMIT", 0.1)
    done = tck(f"tck_subjects:{factory}", "--kind", "publisher")
    assert done.exit_code == 1
    assert f"the factory does not work: {fault}" in done.output
    assert "FAILED: nothing could be verified" in done.output


@pytest.mark.usefixtures("here")
def test_claims_are_read_as_what_they_are() -> None:
    texts = ["multicast=true", "completes=NO", "max_elements=1_000", "failed=tck_subjects:failed"]
    claims = read_claims(KINDS["publisher"], texts)
    assert claims.pop("failed").__name__ == "failed"
    assert claims == {"multicast": True, "completes": False, "max_elements": 1000}


@pytest.mark.usefixtures("here")
def test_the_replay_command_repeats_kind_and_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[Report] = []
    monkeypatch.setattr(
        "penstock.cli.tck._publish", lambda report, *_, **__: reports.append(report)
    )
    tck("tck_subjects:Greedy", "--kind", "publisher", "--claim", "multicast=yes", "--rule", "1.1")
    command = reports[0].replay_command(reports[0].failures[0])
    assert command.startswith("penstock tck tck_subjects:Greedy --kind publisher --claim multicast")


def test_a_real_process_finds_modules_of_the_current_directory(folder: Path) -> None:
    done = tck_process(folder, "tck_subjects:Greedy", "--rule", "1.1")
    assert done.returncode == 1
    assert done.stderr == ""
    assert "rule 1.1 is broken" in done.stdout


@pytest.mark.parametrize("subject", ["Haunted", "HauntedPool"])
def test_a_real_process_ends_although_the_subject_left_threads_behind(
    folder: Path, subject: str
) -> None:
    done = tck_process(folder, f"tck_subjects:{subject}", "--rule", "1.1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed: 1 verified" in done.stdout
    assert "Left without waiting for ghost" in done.stderr
