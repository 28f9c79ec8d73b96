"""Numbers and times as people read them."""

from __future__ import annotations

import pytest

from penstock.cli.progress import count, duration, rate, seconds, short


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (0.25, "0.3"),
        (9.94, "9.9"),
        (9.96, "10"),
        (10.5, "11"),
        (1_234, "1,234"),
        (12_345, "12.3K"),
        (999_960, "1M"),
        (1_500_000, "1.5M"),
        (2.5e9, "2.5B"),
    ],
)
def test_a_number_is_as_short_as_the_page_has_it(number: float, text: str) -> None:
    assert short(number) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 ms"), (0.4, "400 ms"), (0.0034, "3.4 ms"), (3.25, "3.3 s"), (75, "00:01:15")],
)
def test_a_time_has_the_unit_that_fits(value: float, text: str) -> None:
    assert seconds(value) == text


def test_counts_have_all_their_digits() -> None:
    assert count(1_234_567) == "1,234,567"


def test_a_duration_has_hours() -> None:
    assert (duration(101), duration(3_661.9)) == ("00:01:41", "01:01:01")


def test_a_rate_is_never_negative() -> None:
    assert (rate(-1), rate(61.4)) == ("0/s", "61/s")
