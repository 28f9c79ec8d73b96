"""The official conformance kit of Reactive Streams: which files it is made of, and where from.

The files are those of its publishers, unmodified: each has to match its checksum.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
from pathlib import Path
from typing import Final

from penstock.tck.jvm.cache import kept
from penstock.tck.jvm.installed_java import Java
from penstock.tck.jvm.problem import JudgeUnavailable

__all__ = ["VERSION", "jars"]

VERSION: Final = "1.0.4"
_GROUP, _NAME = "org.reactivestreams", "reactive-streams-tck"
_LIMIT: Final = 600
"""Seconds for fetching all files."""

CHECKSUMS: Final = {
    name: checksum
    for checksum, name in map(
        str.split, Path(__file__).with_suffix(".sha256").read_text().splitlines()
    )
}
"""The SHA-256 checksum of each file: the kit, and all that it declares to depend on."""

_PROJECT: Final = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>penstock</groupId>
  <artifactId>outside-judge</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>{_GROUP}</groupId>
      <artifactId>{_NAME}</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


def jars(java: Java) -> list[Path]:
    """The files of the kit, fetched if they are not at hand."""
    folder = kept(f"kit-{VERSION}", lambda empty: _fetch(empty, java), _is_complete)
    return [folder / name for name in CHECKSUMS]


def _fetch(folder: Path, java: Java) -> None:
    complaint = _fetch_by_any_tool(folder, java)
    wrong = _wrong(folder)
    if wrong and complaint:
        raise JudgeUnavailable(
            f"the official kit {VERSION} is not at hand and could not be fetched: connect to the "
            f"network and try again ({complaint})"
        )
    if wrong:
        raise JudgeUnavailable(
            f"what was fetched is not the official kit {VERSION}: missing or with another checksum "
            f"is {', '.join(wrong)}; look at the repositories that Maven is configured to ask"
        )


def _fetch_by_any_tool(folder: Path, java: Java) -> str:
    """Fetch the kit; the result is what a tool complained about."""
    if maven := shutil.which("mvn"):
        return _fetch_by_maven(maven, folder)
    if ivy := _ivy():
        return _fetch_by_ivy(java, ivy, folder)
    raise JudgeUnavailable(
        f"the official kit {VERSION} has to be fetched once, by mvn or by the Ivy that comes with "
        "pyspark, and there is neither: install Maven"
    )


def _fetch_by_maven(maven: str, folder: Path) -> str:
    project = folder.with_name("pom.xml")
    project.write_text(_PROJECT)
    # Which version of its plugin Maven takes does not matter: the checksums decide.
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
    return _run(maven, "--batch-mode", "--quiet", "--file", str(project), *goal)


def _fetch_by_ivy(java: Java, ivy: Path, folder: Path) -> str:
    pattern = f"{folder}/[artifact]-[revision](-[classifier]).[ext]"
    what = ["-dependency", _GROUP, _NAME, VERSION, "-confs", "default", "-retrieve", pattern]
    return _run(str(java.command), "-jar", str(ivy), "-warn", "-types", "jar", "bundle", *what)


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


def _is_complete(folder: Path) -> bool:
    return not _wrong(folder)


def _wrong(folder: Path) -> list[str]:
    return [name for name in CHECKSUMS if _checksum(folder / name) != CHECKSUMS[name]]


def _checksum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
