"""What the official kit needs is found, fetched and kept, or one sentence says why not."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from penstock.tck.jvm import JudgeUnavailable, cache, compilation, court, official_kit
from penstock.tck.jvm.installed_java import Java, find_java

FILES = {"one.jar": b"the first", "two.jar": b"the second"}
NO_JAVA = Java(Path("nowhere"), "17.0.1")

FETCH = """#!/bin/sh
echo "$*" >> {calls}
for word; do case "$word" in -DoutputDirectory=*) folder="${{word#*=}}" ;; esac; done
printf 'the first' > "$folder/one.jar"
printf '{second}' > "$folder/two.jar"
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on it; its commands are in the folder ``bin``."""
    commands = tmp_path / "bin"
    commands.mkdir()
    monkeypatch.setenv("PATH", str(commands))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
    monkeypatch.setattr(official_kit, "CHECKSUMS", sums)
    return tmp_path


def command(machine: Path, name: str, script: str) -> Path:
    path = machine / "bin" / name
    path.write_text(script)
    path.chmod(0o755)
    return path


def java(machine: Path, version: str) -> None:
    settings = f"    java.home = {machine}\\n    java.version = {version}\\n"
    command(machine, "java", f"#!/bin/sh\nprintf '{settings}' >&2\n")


def maven(machine: Path, second: str = "the second") -> Path:
    calls = machine / "calls"
    command(machine, "mvn", FETCH.format(calls=calls, second=second))
    return calls


def test_a_machine_without_java_is_told_to_install_one(machine: Path) -> None:
    with pytest.raises(JudgeUnavailable, match="there is none: install a JDK of version 17"):
        find_java()


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_292"])
def test_an_old_java_is_told_apart(machine: Path, version: str) -> None:
    java(machine, version)
    with pytest.raises(JudgeUnavailable, match=f"this is Java {version}: install a JDK"):
        find_java()


def test_a_java_with_a_compiler_wins_over_one_without(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java(machine, "17.0.1")
    command(machine, "javac", "")
    runtime = machine / "runtime"
    (runtime / "bin").mkdir(parents=True)
    script = f"#!/bin/sh\nprintf 'java.home = {runtime}\\njava.version = 21\\n'\n"
    (runtime / "bin" / "java").write_text(script)
    (runtime / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(runtime))
    assert find_java() == Java(machine, "17.0.1")


def test_a_java_without_a_compiler_is_told_to_install_the_jdk(machine: Path) -> None:
    with pytest.raises(JudgeUnavailable, match="has no compiler: install the JDK"):
        compilation.classes(Java(machine, "17.0.1"), [])


def test_a_compiler_that_complains_leaves_nothing_behind(machine: Path) -> None:
    command(machine, "javac", "#!/bin/sh\necho 'no such package' >&2\nexit 1\n")
    for _ in range(2):
        with pytest.raises(JudgeUnavailable, match="no such package"):
            compilation.classes(Java(machine, "17.0.1"), [])


def test_without_maven_and_without_ivy_one_is_told_to_install_maven(machine: Path) -> None:
    with pytest.raises(JudgeUnavailable, match="there is neither: install Maven"):
        official_kit.jars(NO_JAVA)


def test_without_a_network_one_is_told_to_connect(machine: Path) -> None:
    command(machine, "mvn", "#!/bin/sh\necho '[ERROR] Unknown host'\nexit 1\n")
    with pytest.raises(
        JudgeUnavailable, match=r"connect to the network .*mvn says: .*Unknown host"
    ):
        official_kit.jars(NO_JAVA)


def test_files_with_another_checksum_are_refused_and_not_kept(machine: Path) -> None:
    maven(machine, second="a forgery")
    with pytest.raises(JudgeUnavailable, match="another checksum is two.jar"):
        official_kit.jars(NO_JAVA)
    maven(machine)
    assert [jar.read_bytes() for jar in official_kit.jars(NO_JAVA)] == list(FILES.values())


def test_the_kit_is_fetched_once_and_again_when_it_is_damaged(machine: Path) -> None:
    calls = maven(machine)
    first = official_kit.jars(NO_JAVA)
    assert official_kit.jars(NO_JAVA) == first
    assert len(calls.read_text().splitlines()) == 1
    first[0].write_text("damaged")
    official_kit.jars(NO_JAVA)
    assert len(calls.read_text().splitlines()) == 2
    assert first[0].read_bytes() == FILES["one.jar"]


def test_ivy_fetches_the_kit_where_there_is_no_maven(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = machine / "site" / "pyspark"
    (spark / "jars").mkdir(parents=True)
    (spark / "__init__.py").touch()
    (spark / "jars" / "ivy-2.5.3.jar").touch()
    monkeypatch.syspath_prepend(spark.parent)
    command(
        machine,
        "java",
        "#!/bin/sh\n"
        f'echo "$*" > {machine}/calls\n'
        'for word; do case "$word" in */filled/*) folder="${word%/*}" ;; esac; done\n'
        "printf 'the first' > \"$folder/one.jar\"\n"
        "printf 'the second' > \"$folder/two.jar\"\n",
    )
    assert len(official_kit.jars(Java(machine, "17.0.1"))) == 2
    assert "org.reactivestreams reactive-streams-tck 1.0.4" in (machine / "calls").read_text()


def test_what_fails_half_way_is_not_kept(machine: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        cache.kept("thing", fill, Path.is_dir)
    assert [path.name for path in (machine / "cache/penstock/jvm").iterdir()] == ["thing.lock"]


def test_without_jpype_one_is_told_which_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(court, "find_spec", lambda name: None)
    with pytest.raises(JudgeUnavailable, match=r"pip install 'penstock\[jvm\]'"):
        court.prepare()
