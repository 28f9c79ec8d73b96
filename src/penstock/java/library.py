"""Files of others: fetched once, kept, and each verified by its checksum.

They come from the repositories that Maven is configured to use, by ``mvn`` or by the Ivy that comes
with pyspark.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.java.compilation import kept
from penstock.java.installed_java import Java, JavaUnavailable

__all__ = ["Library", "read_checksums"]

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
      <version>{}</version>
    </dependency>"""


def read_checksums(file: Path) -> dict[str, str]:
    """The SHA-256 checksum of each file, from a list as ``sha256sum`` writes it."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return {name: checksum for checksum, name in map(str.split, lines)}


@dataclass(frozen=True)
class Library:
    """Artifacts of others, with all that they declare to depend on."""

    name: str
    """What the messages call it."""
    folder: str
    """The name of the folder in which it is kept; another version needs another one."""
    artifacts: tuple[str, ...]
    """Each as ``group:artifact:version``."""
    checksums: Mapping[str, str]
    """The SHA-256 checksum of each file that is wanted."""

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
        declared = [_DEPENDENCY.format(*artifact.split(":")) for artifact in self.artifacts]
        project = folder.with_name("pom.xml")
        project.write_text(_PROJECT.format(dependencies="\n".join(declared)), encoding="utf-8")
        # Which version of its plugin Maven takes does not matter: the checksums decide.
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        return _run(maven, "--batch-mode", "--quiet", "--file", str(project), *goal)

    def _fetch_by_ivy(self, java: Java, ivy: Path, folder: Path) -> str:
        pattern = f"{folder}/[artifact]-[revision](-[classifier]).[ext]"
        command = [str(java.command), "-jar", str(ivy), "-warn", "-types", "jar", "bundle"]
        command += ["-confs", "default", "-retrieve", pattern]
        complaints = [
            _run(*command, "-dependency", *artifact.split(":")) for artifact in self.artifacts
        ]
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
