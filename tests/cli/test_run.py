"""``penstock run`` runs pipelines, ends them as asked, and says in one line what is wrong."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from click.testing import CliRunner

from penstock.cli.application import application
from penstock.cli.log_progress import LineProgress
from tests.cli.processes import Ended, RunningCommand, penstock_command
from tests.held_port import held_port

PIPELINES = "tests.cli.pipelines"
TOKEN = "a-token-for-tests"


def test_a_pipeline_that_completes_ends_with_0_and_a_summary() -> None:
    ended = penstock_command("run", f"{PIPELINES}:completes")
    assert (ended.code, ended.out) == (0, "0\n1\n2\n3\n4\n")
    assert "completes completed after" in ended.err
    assert "taken 5, delivered 5" in ended.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_one_that_has_completed_changes_nothing(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "leaving.py").write_text(
        "import atexit, os\n"
        "from penstock import Flow\n"
        "from penstock.pipeline import Pipeline\n"
        "class Late:\n"
        f"    def __del__(self, kill=os.kill, me=os.getpid()): kill(me, {int(number)})\n"
        "late = Late()\n"  # it is deleted with the last of all modules
        f"atexit.register(os.kill, os.getpid(), {int(number)})\n"
        "three = Pipeline('three', sources={'three': lambda settings: Flow.of(1, 2, 3)},\n"
        "    sinks={'terminal': lambda settings: print})\n"
    )
    ended = penstock_command("run", "leaving:three", folder=tmp_path)
    assert ended.code == 0, ended.err
    assert "Traceback" not in ended.err


def test_settings_come_from_the_command_line_and_win_over_the_file(tmp_path: Path) -> None:
    config = tmp_path / "penstock.toml"
    config.write_text("[settings]\ncount = 1\nevery = 2\n")
    ended = penstock_command(
        "run", f"{PIPELINES}:completes", "--config", str(config), "--set", "count=2"
    )
    assert (ended.code, ended.out) == (0, "0\n1\n")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("source_fails", "failed: ZeroDivisionError: division by zero"),
        ("sink_fails", "failed: OSError: no space left"),
        ("subscriber_raises", "failed: OSError: the line is dead"),
    ],
)
def test_a_pipeline_that_fails_ends_with_1_and_no_traceback(name: str, said: str) -> None:
    ended = penstock_command("run", f"{PIPELINES}:{name}")
    assert ended.code == 1
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_sink_that_fails_is_named_with_the_element() -> None:
    assert "in the sink terminal, for 2" in penstock_command("run", f"{PIPELINES}:sink_fails").err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("function_exits", "failed: SinkExited: it raised SystemExit(4)"),
        ("subscriber_exits", "failed: SinkExited: it raised KeyboardInterrupt()"),
    ],
)
def test_a_sink_that_wants_to_end_the_program_fails_like_any_other(name: str, said: str) -> None:
    ended = penstock_command("run", f"{PIPELINES}:{name}")
    assert ended.code == 1
    assert said in ended.err
    assert "in the sink terminal" in ended.err
    assert "Traceback" not in ended.err


def test_debug_shows_the_traceback_of_a_failure() -> None:
    ended = penstock_command("run", f"{PIPELINES}:sink_fails", "--debug")
    assert ended.code == 1
    assert "Traceback (most recent call last)" in ended.err
    assert 'raise OSError("no space left")' in ended.err


@pytest.mark.parametrize("end", [RunningCommand.interrupt, RunningCommand.terminate])
def test_an_interrupt_drains_and_ends_with_3_and_a_summary(
    end: Callable[[RunningCommand], None],
) -> None:
    with RunningCommand("run", f"{PIPELINES}:ticking") as command:
        command.out.wait_for("3")
        end(command)
        ended = command.end()
    assert ended.code == 3
    assert "draining: what was taken still comes through" in ended.err
    count = len(ended.out.splitlines())
    assert ended.out.splitlines() == [str(number) for number in range(count)]
    assert "ticking stopped after" in ended.err
    assert f"delivered {count:,}" in ended.err


def test_an_interrupt_that_comes_as_soon_as_the_page_is_named_drains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    say = LineProgress.say

    def interrupt_at_the_page(progress: LineProgress, text: str) -> None:
        say(progress, text)
        if text.startswith("the page: "):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(LineProgress, "say", interrupt_at_the_page)
    ended = CliRunner().invoke(application, ["run", f"{PIPELINES}:ticking", "--dashboard"])
    assert ended.exit_code == 3
    assert "ticking stopped after" in ended.stderr


def test_a_second_interrupt_stops_at_once_with_130() -> None:
    with RunningCommand("run", f"{PIPELINES}:blocked") as command:
        command.out.wait_for("taking for ever")
        command.interrupt()
        command.err.wait_for("draining")
        command.interrupt()
        ended = command.end()
    assert ended.code == 130
    assert "blocked stopped after" in ended.err
    assert "Traceback" not in ended.err


def test_a_drain_that_takes_too_long_stops_with_3_and_says_what_was_left() -> None:
    with RunningCommand("run", f"{PIPELINES}:blocked", "--drain-timeout", "0.3") as command:
        command.out.wait_for("taking for ever")
        command.interrupt()
        ended = command.end()
    assert ended.code == 3, ended.err
    assert (
        "not drained within 0.3 s, and stopped\n"
        "  left: the sink terminal has not finished 1 that it was given\n"
    ) in ended.err
    assert "blocked stopped after" in ended.err
    assert "Traceback" not in ended.err


def interrupted_while_loading(folder: Path, module: str, times: int) -> Ended:
    """Interrupt a command whose module waits, as often as it says that it does."""
    (folder / "slow.py").write_text(module)
    with RunningCommand("run", "slow:pipeline", folder=folder) as command:
        for number in range(times):
            command.out.wait_for(f"loading {number}")
            command.interrupt()
        return command.end()


WAIT = "print('loading {}', flush=True); import threading; threading.Event().wait()"
LOADS = WAIT.format(0)
LOADS_ON = f"""
try:
    {WAIT.format(0)}
except BaseException:
    {WAIT.format(1)}
"""


@pytest.mark.parametrize(("module", "times", "code"), [(LOADS, 1, 3), (LOADS_ON, 2, 130)])
def test_an_interrupt_while_the_modules_load_is_a_stop(
    tmp_path: Path, module: str, times: int, code: int
) -> None:
    ended = interrupted_while_loading(tmp_path, module, times)
    assert (ended.code, ended.err) == (code, "stopped before it began\n")


def test_an_interrupt_that_a_module_catches_is_a_stop_nevertheless(tmp_path: Path) -> None:
    module = f"""
try:
    {WAIT.format(0)}
except BaseException:
    from tests.cli.pipelines import ticking as pipeline
"""
    ended = interrupted_while_loading(tmp_path, module, 1)
    assert (ended.code, ended.err) == (3, "stopped before it began\n")


def test_an_interrupt_while_the_command_itself_loads_is_a_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("penstock.cli.application.import_module", interrupted)
    for name, code in (("run", 3), ("check", 130)):
        ended = CliRunner().invoke(application, [name, f"{PIPELINES}:ticking"])
        assert (ended.exit_code, ended.stderr) == (code, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("tests.cli.pipelnes:completes", "there is no module 'tests.cli.pipelnes'"),
        (f"{PIPELINES}:complets", "there is no name 'complets'"),
        (f"{PIPELINES}:complets", "did you mean 'completes'?"),
        (f"{PIPELINES}:numbers", "which is no Pipeline"),
        (PIPELINES, "refers to nothing; write module:name"),
        (f"{PIPELINES}:completes --set cuont=3", "no key 'cuont'"),
        (f"{PIPELINES}:completes --set cuont=3", "did you mean 'count'?"),
        (f"{PIPELINES}:completes --set count=many", "count must be a whole number, not 'many'"),
        (f"{PIPELINES}:completes --set count", "--set takes key=value, not 'count'"),
        (f"{PIPELINES}:completes --config nowhere.toml", "nowhere.toml cannot be read"),
        (
            f"{PIPELINES}:completes --drain-timeout 0",
            "drain_timeout is a number of seconds above 0, not 0",
        ),
        (f"{PIPELINES}:completes --drain-timeout -2.5", "above 0, not -2.5"),
        (f"{PIPELINES}:completes --drain-timeout nan", "above 0, not nan"),
        (f"{PIPELINES}:completes --checkpoint here", "does not go through Spark"),
        (f"{PIPELINES}:completes --checkpoint=", "--checkpoint is empty: name a place"),
        (f"{PIPELINES}:rows_exit --checkpoint foo://x", "foo://x is no place for a checkpoint"),
        (f"{PIPELINES}:no_source", "the source numbers cannot be made: FileNotFoundError"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: str, said: str) -> None:
    ended = CliRunner().invoke(application, ["run", *arguments.split()])
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert said in ended.stderr
    assert ended.stderr.startswith("Error: ")
    assert ended.stderr.count("\n") == 1


def test_a_real_process_says_its_bad_input_in_one_line_with_exit_code_2() -> None:
    ended = penstock_command("run", f"{PIPELINES}:complets")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("Error: there is no name 'complets'")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[settings\ncount = 1", "penstock.toml: Expected ']'"),
        ("[setings]\ncount = 1", "there is no table 'setings', only [run] and [settings]"),
        ("[setings]\ncount = 1", "did you mean 'settings'?"),
        ("[settings]\ncuont = 1", "[settings]: there is no key 'cuont'"),
        ("[settings]\ncount = '1'", "[settings]: count must be a whole number, not '1'"),
        ("[settings]\nledger = 1", "[settings]: ledger must be a path, not 1"),
        ("[run]\ndashbord = true", "[run]: there is no key 'dashbord'"),
        ("[run]\ndrain_timeout = 0", "[run]: drain_timeout is a number of seconds above 0, not 0"),
        ("[run]\nlog_format = 'xml'", "[run]: log_format is text or json, not 'xml'"),
        ("[run]\nport = 70000", "[run]: port is from 0 to 65535, not 70000"),
        ("run = 3", "run must be a table, [run], not 3"),
        (b"\xff", "penstock.toml is not text in UTF-8"),
    ],
)
def test_a_wrong_file_is_one_line_and_exit_code_2(
    tmp_path: Path, content: str | bytes, said: str
) -> None:
    config = tmp_path / "penstock.toml"
    config.write_bytes(content if isinstance(content, bytes) else content.encode())
    arguments = ["run", f"{PIPELINES}:completes", "--config", str(config)]
    ended = CliRunner().invoke(application, arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_module_that_raises_is_one_line_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("number = 1\nnumber.missing\n")
    ended = penstock_command("run", "broken:pipeline", folder=tmp_path)
    assert ended.code == 2
    assert "importing broken raised AttributeError" in ended.err
    assert "at broken.py:2" in ended.err
    assert ended.err.count("\n") == 1


def test_debug_shows_the_traceback_of_a_module_that_raises(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("number = 1\nnumber.missing\n")
    ended = penstock_command("run", "broken:pipeline", "--debug", folder=tmp_path)
    assert ended.code == 2
    assert "Traceback (most recent call last)" in ended.err
    assert "number.missing" in ended.err


def test_a_port_in_use_is_one_line_and_exit_code_2() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = penstock_command(
            "run", f"{PIPELINES}:completes", "--dashboard", "--port", str(port)
        )
    assert (ended.code, ended.out) == (2, "")
    assert f"port {port} is in use" in ended.err
    assert ended.err.count("\n") == 1


def test_the_page_is_served_for_as_long_as_the_pipeline_runs_and_shows_no_element_if_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PENSTOCK_DASHBOARD_TOKEN", TOKEN)
    with held_port() as port:
        options = "--dashboard", "--port", str(port), "--no-samples"
        with RunningCommand("run", f"{PIPELINES}:ticking", *options) as command:
            address = command.err.wait_for("the page: ").partition("the page: ")[2].strip()
            with urlopen(address) as answer:
                assert answer.status == 200
            place = f"http://127.0.0.1:{port}/status"
            asked = Request(place, headers={"Authorization": f"Bearer {TOKEN}"})
            with urlopen(asked) as answer:
                status = json.load(answer)
            assert status["samples"] is False
            assert [stage["recent"] for stage in status["stages"]] == [[], []]
            command.interrupt()
            ended = command.end()
        assert ended.code == 3
        with pytest.raises(OSError, match="Connection refused"):
            urlopen(address)
