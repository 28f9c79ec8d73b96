"""Settings fill a dataclass from TOML and from texts, and say in one sentence what is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from penstock.pipeline.settings import SettingsError, filled, read_assignments, read_file


@dataclass(frozen=True)
class Settings:
    path: Path = Path("here")
    name: str = "none"
    count: int = 1
    rate: float = 1.0
    loud: bool = False
    hosts: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    pair: tuple[int, ...] = ()
    limit: int | None = None
    day: date = date(2013, 2, 8)


@dataclass(frozen=True)
class Required:
    url: str


@dataclass(frozen=True)
class Judging:
    rate: float = 1.0

    def __post_init__(self) -> None:
        if self.rate <= 0:
            raise ValueError(f"rate must be above 0, not {self.rate:g}")


def assigned(*texts: str) -> Settings:
    return filled(Settings, read_assignments(texts), "--set")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("path=there/x", Path("there/x")),
        ("name=blizzard", "blizzard"),
        ('name="two words"', "two words"),
        ("name=1.50", "1.50"),
        ("name=1e5", "1e5"),
        ("name=true", "true"),
        ("name=a=b", "a=b"),
        ("name=", ""),
        ("name=1\ncount=2", "1\ncount=2"),
        ("count=3", 3),
        ("count = 1_000", 1_000),
        ("rate=2", 2.0),
        ("rate=2.5", 2.5),
        ("loud=true", True),
        ('hosts=["a", "b"]', ["a", "b"]),
        ('labels={a = "b"}', {"a": "b"}),
        ("pair=[1, 2]", (1, 2)),
        ("limit=7", 7),
        ("day=2013-02-09", date(2013, 2, 9)),
    ],
)
def test_a_text_becomes_what_the_field_has(text: str, value: object) -> None:
    made = getattr(assigned(text), text.partition("=")[0].strip())
    assert (made, type(made)) == (value, type(value))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"count": 1.5}, "count must be a whole number, not 1.5"),
        ({"count": True}, "count must be a whole number, not True"),
        ({"rate": "fast"}, "rate must be a number, not 'fast'"),
        ({"loud": 1}, "loud must be true or false, not 1"),
        ({"name": 5}, "name must be a text, not 5"),
        ({"path": 5}, "path must be a path, not 5"),
        ({"hosts": "a"}, "hosts must be a list, not 'a'"),
        ({"labels": []}, "labels must be a table, not []"),
        ({"limit": "x"}, "limit must be a whole number, not 'x'"),
        ({"cuont": 1}, "there is no key 'cuont', only path, name, count"),
        ({"cuont": 1}, "did you mean 'count'?"),
    ],
)
def test_a_wrong_value_is_one_sentence_with_its_place(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as refused:
        filled(Settings, given, "penstock.toml")
    assert str(refused.value).startswith("penstock.toml: ")
    assert said in str(refused.value)


def test_a_wrong_assignment_is_not_blamed_on_the_file() -> None:
    given = {"name": "fine", **read_assignments(["count=x"])}
    with pytest.raises(SettingsError, match="^--set: count must be a whole number, not 'x'$"):
        filled(Settings, given, "penstock.toml")


def test_a_setting_without_default_must_be_set() -> None:
    with pytest.raises(SettingsError, match=r"url must be set \(a text\)"):
        filled(Required, {}, "--set")


def test_what_the_dataclass_itself_refuses_is_said_with_its_place() -> None:
    with pytest.raises(SettingsError, match="^file: rate must be above 0, not -1$"):
        filled(Judging, {"rate": -1}, "file")


@pytest.mark.parametrize("text", ["count", "=1", " =1"])
def test_an_assignment_needs_a_key_and_a_value(text: str) -> None:
    with pytest.raises(SettingsError, match="--set takes key=value"):
        read_assignments([text])


def test_a_file_is_read_as_toml(tmp_path: Path) -> None:
    path = tmp_path / "penstock.toml"
    path.write_text("[settings]\ncount = 2\n")
    assert read_file(path) == {"settings": {"count": 2}}


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file or directory"):
        read_file(tmp_path / "penstock.toml")
