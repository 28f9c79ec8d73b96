"""What the official kit needs is at hand, or one sentence says why not."""

from __future__ import annotations

import pytest

from penstock.java import JavaUnavailable
from penstock.tck.jvm import runner
from penstock.tck.jvm.official_kit import KIT


def test_the_kit_is_the_version_that_the_docs_name_with_all_that_it_depends_on() -> None:
    assert KIT.artifacts == ("org.reactivestreams:reactive-streams-tck:1.0.4",)
    assert sorted(name.rpartition("-")[0] for name in KIT.checksums) == [
        "jcommander",
        "reactive-streams",
        "reactive-streams-examples",
        "reactive-streams-tck",
        "testng",
    ]


def test_without_jpype_one_is_told_which_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "find_spec", lambda name: None)
    with pytest.raises(JavaUnavailable, match=r"pip install 'penstock\[jvm\]'"):
        runner.prepare()
