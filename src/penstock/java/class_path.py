"""What Java needs to run code of ours, kept once it is made: libraries of others, our classes."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.java.installed_java import OLDEST, Java, JavaUnavailable

__all__ = [
    "Library",
    "classes",
    "kept",
    "read_checksums",
]

_LIMIT: Final = 600
"""Seconds for one call of a tool that fetches."""

_PROJECT: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>penstock</groupId>
  <artifactId>library</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY: Final = """\
    <dependency>
      <groupId>{}</groupId>
      <artifactId>{}</artifactId>
      <version>{}</version>{}
    </dependency>"""
_ALONE: Final = """
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"""


def read_checksums(file: Path) -> dict[str, str]:
    """The SHA-256 checksum of each file, from a list as ``sha256sum`` writes it."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return {name: checksum for checksum, name in map(str.split, lines)}


@dataclass(frozen=True)
class Library:
    """Artifacts of others, with all that they declare to depend on.

    They come from the repositories that Maven is configured to use, by ``mvn`` or by the Ivy that
    comes with pyspark.
    """

    name: str
    """What the messages call it."""
    folder: str
    """The name of the folder in which it is kept; another version needs another one."""
    artifacts: tuple[str, ...]
    """Each as ``group:artifact:version``."""
    checksums: Mapping[str, str]
    """The SHA-256 checksum of each file that is wanted."""
    alone: tuple[str, ...] = ()
    """Further artifacts, without what they declare: one that is named above takes its place."""

    def jars(self, java: Java) -> list[Path]:
        """The files, fetched if they are not at hand."""
        folder = kept(self.folder, lambda empty: self._fetch(empty, java), self._is_complete)
        return [folder / name for name in self.checksums]

    def _fetch(self, folder: Path, java: Java) -> None:
        complaint = self._fetch_by_any_tool(folder, java)
        wrong = self._wrong(folder)
        if wrong and complaint:
            raise JavaUnavailable(
                f"{self.name} is not at hand and could not be fetched: connect to the network and "
                f"try again ({complaint})"
            )
        if wrong:
            raise JavaUnavailable(
                f"what was fetched is not {self.name}: missing or with another checksum is "
                f"{', '.join(wrong)}; look at the repositories that Maven is configured to ask"
            )

    def _fetch_by_any_tool(self, folder: Path, java: Java) -> str:
        """Fetch all; the result is what a tool complained about."""
        if maven := shutil.which("mvn"):
            return self._fetch_by_maven(maven, folder)
        if ivy := _ivy():
            return self._fetch_by_ivy(java, ivy, folder)
        raise JavaUnavailable(
            f"{self.name} has to be fetched once, by mvn or by the Ivy that comes with pyspark, "
            "and there is neither: install Maven"
        )

    def _fetch_by_maven(self, maven: str, folder: Path) -> str:
        declared = [_DEPENDENCY.format(*artifact.split(":"), "") for artifact in self.artifacts]
        declared += [_DEPENDENCY.format(*artifact.split(":"), _ALONE) for artifact in self.alone]
        project = folder.with_name("pom.xml")
        project.write_text(_PROJECT.format(dependencies="\n".join(declared)), encoding="utf-8")
        # Which version of its plugin Maven takes does not matter: the checksums decide.
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        return _run(maven, "--batch-mode", "--quiet", "--file", str(project), *goal)

    def _fetch_by_ivy(self, java: Java, ivy: Path, folder: Path) -> str:
        pattern = f"{folder}/[artifact]-[revision](-[classifier]).[ext]"
        command = [str(java.command), "-jar", str(ivy), "-warn", "-types", "jar", "bundle"]
        command += ["-confs", "default", "-retrieve", pattern]
        wanted = [("-dependency", *artifact.split(":")) for artifact in self.artifacts]
        wanted += [("-notransitive", "-dependency", *each.split(":")) for each in self.alone]
        complaints = [_run(*command, *options) for options in wanted]
        return next(filter(None, complaints), "")

    def _is_complete(self, folder: Path) -> bool:
        return not self._wrong(folder)

    def _wrong(self, folder: Path) -> list[str]:
        return [
            name
            for name, checksum in self.checksums.items()
            if _checksum(folder / name) != checksum
        ]


def _ivy() -> Path | None:
    """The Ivy that pyspark brings along, if it is installed."""
    pyspark = importlib.util.find_spec("pyspark")
    places = (pyspark and pyspark.submodule_search_locations) or []
    return next((jar for place in places for jar in Path(place).glob("jars/ivy-*.jar")), None)


def _run(*command: str) -> str:
    """Run a command: nothing if all went well, else what it complained about."""
    tool = Path(command[0]).name
    try:
        done = subprocess.run(
            command, check=False, capture_output=True, encoding="utf-8", timeout=_LIMIT
        )
    except subprocess.TimeoutExpired:
        return f"{tool} did not end within {_LIMIT} s"
    if not done.returncode:
        return ""
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return f"{tool} says: {lines[0] if lines else f'exit code {done.returncode}'}"


def _checksum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def kept(name: str, fill: Callable[[Path], None], is_sound: Callable[[Path], bool]) -> Path:
    """The folder of that name, which ``fill`` has filled, again if it is no longer sound.

    It appears as a whole or not at all, even if other processes want it at the same time.
    """
    import fcntl  # not on Windows

    place = _root() / name
    place.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{place}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_sound(place):
            shutil.rmtree(place, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=place.parent, prefix=f"{name}-") as workshop:
                filled = Path(workshop, "filled")
                filled.mkdir()
                fill(filled)
                filled.rename(place)
    return place


def _root() -> Path:
    home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or home) / "penstock" / "jvm"


def classes(java: Java, name: str, sources: Sequence[Path], libraries: Sequence[Path] = ()) -> Path:
    """The folder of the compiled classes, which run on the oldest Java that will do, too."""
    what = hashlib.sha256()
    for source in sources:
        what.update(source.read_bytes())
    for library in libraries:
        what.update(library.name.encode())
    return kept(
        f"{name}-{what.hexdigest()[:16]}",
        lambda folder: _compile(folder, java, sources, libraries),
        lambda folder: {source.stem for source in sources} <= _compiled_in(folder),
    )


def _compiled_in(folder: Path) -> set[str]:
    return {path.stem for path in folder.rglob("*.class")}


def _compile(folder: Path, java: Java, sources: Sequence[Path], libraries: Sequence[Path]) -> None:
    if not java.compiler.exists():
        raise JavaUnavailable(
            f"the Java {java.version} at {java.home} has no compiler: install the JDK of it, "
            "or set JAVA_HOME to one"
        )
    command = [str(java.compiler), "--release", str(OLDEST), "-d", str(folder)]
    command += ["-classpath", os.pathsep.join(map(str, libraries)), *map(str, sources)]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise JavaUnavailable(f"{java.compiler} cannot compile {sources[0].name}: {done.stderr}")
