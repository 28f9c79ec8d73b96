"""Standard input and output, of this process and of others."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import pytest

from penstock import Flow
from penstock.connectors import read_standard_input, write_standard_output
from penstock.testing import ManualSubscriber

PATIENCE = 60


@pytest.fixture
def typist(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextIO]:
    """Somebody who types into standard input."""
    reader, writer = os.pipe()
    with os.fdopen(reader) as standard_input, os.fdopen(writer, "w", buffering=1) as typist:
        monkeypatch.setattr(sys, "stdin", standard_input)
        yield typist
        typist.close()  # so that no thread waits for more


BOTH = "from penstock.connectors import read_standard_input, write_standard_output"


def run(program: str, text: str = "") -> subprocess.CompletedProcess[str]:
    opening = f"from penstock import *; {BOTH}\n"
    return subprocess.run(
        [sys.executable, "-c", opening + program],
        check=False,
        input=text,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def test_lines_are_json_and_empty_ones_are_left_out() -> None:
    done = run(
        "print(read_standard_input().to_list().run_sync())", '{"delay": 12}\n\n[1]\r\n"last"'
    )
    assert done.stdout == "[{'delay': 12}, [1], 'last']\n"


def test_lines_can_be_texts(typist: TextIO) -> None:
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=3)
    read_standard_input(str).subscribe(subscriber)
    typist.write("a b\nc\n")
    subscriber.await_elements(2)
    typist.close()
    subscriber.await_end()
    subscriber.assert_elements("a b", "c")
    subscriber.assert_completed()


def test_nothing_is_read_before_it_is_wanted(typist: TextIO) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    read_standard_input().subscribe(subscriber)
    typist.write("1\n2\n3\n")
    assert os.read(sys.stdin.fileno(), 2) == b"1\n"
    subscriber.request(1)
    subscriber.await_elements(1)
    subscriber.assert_elements(2)
    subscriber.request(1)
    subscriber.await_elements(2)
    subscriber.assert_elements(2, 3)


@pytest.mark.parametrize(
    ("line", "words"),
    [("{", "line 2: Expecting property name"), ("null", "line 2: null is not an element")],
)
def test_a_malformed_line_is_named_by_its_number(typist: TextIO, line: str, words: str) -> None:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=5)
    read_standard_input().subscribe(subscriber)
    typist.write(f"1\n{line}\n")
    subscriber.await_end()
    subscriber.assert_elements(1)
    subscriber.assert_failed(ValueError, match=f"standard input, {words}")


def test_a_program_ends_although_it_waits_for_a_line() -> None:
    program = """
from penstock.testing import ManualSubscriber

PATIENCE = 60
read_standard_input().subscribe(ManualSubscriber(request=1))
print("done")
"""
    process = subprocess.Popen(
        [sys.executable, "-c", f"{BOTH}\n{program}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.wait(PATIENCE) == 0
        assert process.stdout is not None
        assert process.stdout.read() == "done\n"
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_standard_input_cannot_be_replayed(typist: TextIO) -> None:
    assert read_standard_input().plan.origin.replay == "none"


@pytest.mark.parametrize("given", [None, io.StringIO("1\n")])
def test_a_program_without_standard_input_is_told_so_at_once(
    monkeypatch: pytest.MonkeyPatch, given: Any
) -> None:
    monkeypatch.setattr(sys, "stdin", given)
    with pytest.raises(RuntimeError, match="this program has no standard input"):
        read_standard_input()


def test_elements_are_written_as_json_or_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    for encode, element in ((None, {"delay": 12}), (str, "JFK")):
        writer = write_standard_output() if encode is None else write_standard_output(encode)
        Flow.of(element).subscribe(writer)
        assert writer.wait(PATIENCE)
        assert writer.error is None
    assert capsys.readouterr().out == '{"delay": 12}\nJFK\n'


def test_a_reader_that_leaves_ends_the_program_quietly() -> None:
    program = """
from itertools import count
ends = []
writer = write_standard_output()
Flow.from_iterable(count()).do_finally(ends.append).subscribe(writer)
assert writer.wait(60)
assert writer.error is None
import sys
print(ends, file=sys.stderr)
"""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"from penstock import *; {BOTH}" + program,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["0\n", "1\n", "2\n"]
        process.stdout.close()
        assert process.stderr is not None
        assert "CANCELLED" in process.stderr.read().upper()
        assert process.wait(PATIENCE) == 0
