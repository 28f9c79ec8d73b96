"""Files of others are fetched and verified, or one sentence says why not."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.java import Java, JavaUnavailable, Library, read_checksums
from tests.java.unit.machine import Machine

FILES = {"one.jar": b"the first", "two.jar": b"the second"}
LIBRARY = Library(
    "the library 1",
    "library-1",
    ("org.example:one:1", "org.example:two:1"),
    {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()},
)
NO_JAVA = Java(Path("nowhere"), "17.0.1")


def maven(machine: Machine, second: str = "the second") -> None:
    machine.command(
        "mvn",
        f'echo "$*" >> {machine.calls}',
        'for word; do case "$word" in -DoutputDirectory=*) folder="${word#*=}" ;; esac; done',
        "printf 'the first' > \"$folder/one.jar\"",
        f"printf '{second}' > \"$folder/two.jar\"",
    )


def test_without_maven_and_without_ivy_one_is_told_to_install_maven(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(JavaUnavailable, match="library 1 has .* there is neither: install Maven"):
        LIBRARY.jars(NO_JAVA)


def test_without_a_network_one_is_told_to_connect(machine: Machine) -> None:
    machine.command("mvn", "echo '[ERROR] Unknown host'", "exit 1")
    with pytest.raises(JavaUnavailable, match=r"connect to the network .*mvn says: .*Unknown host"):
        LIBRARY.jars(NO_JAVA)


def test_files_with_another_checksum_are_refused_and_not_kept(machine: Machine) -> None:
    maven(machine, second="a forgery")
    with pytest.raises(JavaUnavailable, match="is not the library 1: .* checksum is two.jar"):
        LIBRARY.jars(NO_JAVA)
    maven(machine)
    assert [jar.read_bytes() for jar in LIBRARY.jars(NO_JAVA)] == list(FILES.values())


def test_files_are_fetched_once_and_again_when_they_are_damaged(machine: Machine) -> None:
    maven(machine)
    first = LIBRARY.jars(NO_JAVA)
    assert LIBRARY.jars(NO_JAVA) == first
    assert len(machine.calls.read_text().splitlines()) == 1
    first[0].write_text("damaged")
    LIBRARY.jars(NO_JAVA)
    assert len(machine.calls.read_text().splitlines()) == 2
    assert first[0].read_bytes() == FILES["one.jar"]


def test_ivy_fetches_each_artifact_where_there_is_no_maven(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = machine.folder / "site" / "pyspark"
    (spark / "jars").mkdir(parents=True)
    (spark / "__init__.py").touch()
    (spark / "jars" / "ivy-2.5.3.jar").touch()
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    monkeypatch.syspath_prepend(spark.parent)
    machine.command(
        "java",
        f'echo "$*" >> {machine.calls}',
        'for word; do case "$word" in */filled/*) folder="${word%/*}" ;; esac; done',
        "printf 'the first' > \"$folder/one.jar\"",
        "printf 'the second' > \"$folder/two.jar\"",
    )
    library = replace(LIBRARY, artifacts=("org.example:one:1",), alone=("org.example:two:1",))
    assert len(library.jars(Java(machine.folder, "17.0.1"))) == 2
    calls = machine.calls.read_text().splitlines()
    assert [call.partition("-dependency ")[2] for call in calls] == [
        "org.example one 1",
        "org.example two 1",
    ]
    assert ["-notransitive" in call for call in calls] == [False, True]


def test_of_some_artifacts_nothing_else_is_fetched(machine: Machine) -> None:
    library = replace(LIBRARY, artifacts=("org.example:one:1",), alone=("org.example:two:1",))
    machine.command(
        "mvn",
        'while [ "$1" != --file ]; do shift; done; folder="${2%/*}/filled"',
        f'while read -r line; do echo "$line" >> {machine.calls}; done < "$2"',
        "printf 'the first' > \"$folder/one.jar\"",
        "printf 'the second' > \"$folder/two.jar\"",
    )
    assert len(library.jars(NO_JAVA)) == 2
    one, two = machine.calls.read_text().split("</dependency>")[:2]
    assert ("exclusion" in one, "exclusion" in two) == (False, True)


def test_checksums_are_read_from_a_list_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("12ab  one.jar\n34cd  two.jar\n")
    assert read_checksums(tmp_path / "list") == {"one.jar": "12ab", "two.jar": "34cd"}
