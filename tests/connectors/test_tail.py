"""A file that grows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow, VirtualTime
from penstock.connectors import Line, tail_json_lines
from penstock.flow.base_flow import with_origin
from penstock.flow.engine.run_context import RunContext
from penstock.testing import ManualSubscriber


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()


class Follower:
    """Somebody who follows a file, in virtual time."""

    def __init__(self, file: Path, time: VirtualTime, **options: Any) -> None:
        self.time = time
        self.subscriber: ManualSubscriber[Line] = ManualSubscriber(request=100)
        tail_json_lines(file, poll=0.5, clock=time, **options).subscribe(self.subscriber)

    def values(self) -> list[Any]:
        self.time.advance(0.5)
        return [line.value for line in self.subscriber.elements]

    def places(self) -> list[tuple[int, Any]]:
        return [(line.position.byte, line.value) for line in self.subscriber.elements]


def append(file: Path, text: str) -> None:
    with file.open("a") as growing:
        growing.write(text)


def test_lines_come_as_the_file_grows(file: Path, time: VirtualTime) -> None:
    file.write_text("1\n2\n")
    follower = Follower(file, time)
    assert follower.values() == [1, 2]
    append(file, "3\n")
    assert follower.places() == [(2, 1), (4, 2)]
    assert follower.values() == [1, 2, 3]
    follower.subscriber.assert_not_ended()


def test_a_line_comes_when_it_is_complete(file: Path, time: VirtualTime) -> None:
    file.write_text('{"del')
    follower = Follower(file, time)
    assert follower.values() == []
    append(file, 'ay": 1')
    assert follower.values() == []
    append(file, "2}\n{")
    assert follower.values() == [{"delay": 12}]


def test_a_file_that_is_not_there_yet_is_waited_for(
    file: Path, time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    follower = Follower(file, time)
    assert follower.values() == []
    file.write_text("1\n")
    assert follower.values() == [1]
    assert caplog.text.count("is not there yet") == 1


def test_a_file_that_is_replaced_is_read_to_its_end_and_then_the_next_one(
    file: Path, time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text("1\n2\n")
    follower = Follower(file, time)
    append(file, "3\n4")
    file.rename(file.with_suffix(".1"))
    assert follower.values() == [1, 2, 3]
    file.write_text("5\n6\n")
    assert follower.values() == [1, 2, 3, 4, 5, 6]
    assert follower.places()[-3:] == [(7, 4), (2, 5), (4, 6)]
    assert "another file has taken the place" in caplog.text


def test_a_file_that_gets_shorter_is_read_from_its_beginning(
    file: Path, time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text("1\n2\n3\n")
    follower = Follower(file, time)
    with file.open("r+") as growing:
        growing.truncate(0)
        growing.write("4\n")
    assert follower.values() == [1, 2, 3, 4]
    assert "got shorter" in caplog.text


def test_positions_count_bytes_and_lead_back_to_the_next_line(
    file: Path, time: VirtualTime
) -> None:
    values = ["é", "e", {"a": [1]}]
    file.write_text("".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in values))
    follower = Follower(file, time)
    assert follower.values() == values
    for number, line in enumerate(follower.subscriber.elements, start=1):
        for after in (line.position, line.position.byte, [*line.position]):
            rest = Follower(file, time, after=after)
            assert rest.values() == values[number:]


def test_a_flow_of_lines_can_be_resumed_after_a_position(file: Path) -> None:
    file.write_text("1\n2\n3\n")
    flow = tail_json_lines(file).map(lambda line: line.value)
    origin: Any = flow.plan.origin
    assert origin.replay == "position"
    assert with_origin(flow, origin.at(2)).take(2).to_list().run_sync() == [2, 3]


def test_a_position_beyond_the_end_means_that_the_file_is_another_one(
    file: Path, time: VirtualTime, caplog: pytest.LogCaptureFixture
) -> None:
    file.write_text("1\n")
    follower = Follower(file, time, after=100)
    assert follower.values() == [1]
    assert "shorter than 100 bytes" in caplog.text


def test_nothing_is_read_before_it_is_wanted(file: Path, time: VirtualTime) -> None:
    file.write_text("1\n2\n3\n")
    subscriber: ManualSubscriber[Line] = ManualSubscriber(request=1)
    tail_json_lines(file, clock=time).subscribe(subscriber)
    assert [line.value for line in subscriber.elements] == [1]
    file.write_text("4\n5\n")
    subscriber.request(1)
    time.advance(10)
    assert len(subscriber.elements) == 2
    subscriber.cancel()


def test_no_timer_is_left_after_a_cancel(file: Path, time: VirtualTime) -> None:
    follower = Follower(file, time)
    time.advance(10)
    follower.subscriber.cancel()
    time.run()
    assert time.now() == 10


def test_a_malformed_line_is_named_by_file_and_byte(file: Path, time: VirtualTime) -> None:
    file.write_text("1\n2\nthree\n")
    follower = Follower(file, time)
    assert follower.values() == [1, 2]
    follower.subscriber.assert_failed(
        ValueError, match=f"{file}, line at byte 4: Expecting value at column 1"
    )


def test_a_line_may_have_as_much_as_is_allowed_and_not_a_byte_more(
    file: Path, time: VirtualTime
) -> None:
    long = "x" * 98  # and two quotes
    file.write_bytes(f'1\n"{long}"\r\n"{long}"\n'.encode())
    assert Follower(file, time, max_bytes=100).values() == [1, long, long]
    follower = Follower(file, time, max_bytes=99)
    assert follower.values() == [1]
    follower.subscriber.assert_failed(
        ValueError,
        match=f"{file}, line at byte 2: more than 99 bytes in one line; raise max_bytes$",
    )


def test_a_line_that_does_not_end_is_an_error_before_it_does(file: Path, time: VirtualTime) -> None:
    file.write_text("1\n2\n")
    follower = Follower(file, time, max_bytes=1000)
    for _ in range(10):
        append(file, "x" * 100)
        assert follower.values() == [1, 2]
        follower.subscriber.assert_not_ended()
    append(file, "xx")
    assert follower.values() == [1, 2]
    follower.subscriber.assert_failed(ValueError, match="line at byte 4: more than 1000 bytes")


@pytest.mark.parametrize("rotate", [False, True])
def test_the_last_line_of_a_file_is_bounded_without_an_end(
    file: Path, time: VirtualTime, *, rotate: bool
) -> None:
    file.write_text("1\n" + "2" * 101)
    follower = Follower(file, time, max_bytes=100)
    assert follower.values() == [1]
    follower.subscriber.assert_not_ended()  # the last byte may be half of an end
    if rotate:
        file.rename(file.with_suffix(".1"))
        file.write_text("3\n")
    else:
        append(file, "2")
    assert follower.values() == [1]
    follower.subscriber.assert_failed(ValueError, match="line at byte 2: more than 100 bytes")


def test_a_line_that_was_too_long_is_read_again_or_left_out_by_its_position(
    file: Path, time: VirtualTime
) -> None:
    long = "3" * 199_998  # and two quotes
    lines = ["1\n", "2\n", f'"{long}"\n', "4\n"]
    file.write_text("".join(lines))
    follower = Follower(file, time, max_bytes=150_000)
    assert follower.values() == [1, 2]
    follower.subscriber.assert_failed(ValueError, match="line at byte 4: more than 150000")
    before = follower.subscriber.elements[-1].position
    again = Follower(file, time, after=before, max_bytes=150_000)
    assert again.values() == []
    again.subscriber.assert_failed(ValueError, match="line at byte 4: more than 150000")
    wider = Follower(file, time, after=before, max_bytes=200_000)
    assert wider.values() == [long, 4]
    after_it = wider.subscriber.elements[0].position
    for after in (after_it, sum(map(len, lines[:3]))):
        assert Follower(file, time, after=after, max_bytes=10).values() == [4]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"poll": 0}, "poll must be above 0 seconds, not 0"),
        ({"after": -1}, "after must be at least 0, not -1"),
        ({"after": [1, 2]}, r"after=\) is a number of bytes, or the position of a line"),
        ({"after": "end"}, "after must be an int of at least 0, not .end."),
        ({"clock": "now"}, "needs a clock"),
    ],
)
def test_bad_options_are_refused_at_once(file: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        tail_json_lines(file, **options)


def test_a_folder_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"):
        tail_json_lines(tmp_path)


def test_a_file_that_was_given_up_before_it_was_read_is_not_waited_for(
    file: Path, time: VirtualTime
) -> None:
    flow = Flow.range(3).switch_map(lambda x: tail_json_lines(file, clock=time))
    subscriber: ManualSubscriber[Line] = ManualSubscriber(request=1)
    flow.subscribe(subscriber)
    run = subscriber.subscription
    assert isinstance(run, RunContext)
    assert list(run.waiting_at.values()) == ["tail_json_lines"]
    subscriber.cancel()
