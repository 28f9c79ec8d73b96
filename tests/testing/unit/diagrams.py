"""Marble diagrams for Hypothesis, by their frames."""

from __future__ import annotations

import string

from hypothesis import strategies as st

from penstock.testing.marbles import Frames

letters = st.sampled_from(string.ascii_letters + string.digits)


@st.composite
def frames(draw: st.DrawFn) -> Frames:
    """At least one frame, some of them with several signals, with or without an end."""
    drawn = draw(st.lists(st.lists(letters, max_size=3).map(tuple), min_size=1, max_size=8))
    end = draw(st.sampled_from(["", "|", "#"]))
    if end:
        drawn[-1] += (end,)
    return tuple(drawn)
