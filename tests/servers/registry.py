"""A registry of schemas of the tests' own: Apicurio, which speaks the protocol of Confluent's."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from penstock.java import find_java, kept
from tests.archives import unpack
from tests.held_port import held_port
from tests.servers.process import ServerProcess, running

__all__ = ["Registry", "prepare_registry", "running_registry"]

VERSION: Final = "2.5.11.Final"
ARTIFACT: Final = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
CHECKSUM: Final = "f894a17f650ec427de72cfb68edfc30f8020743269293e58372e22f67fd4fd15"
RUNNER: Final = f"apicurio-registry-app-{VERSION}-runner.jar"
OPTIONS: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def prepare_registry() -> Path:
    """The program, fetched if it is not at hand: 140 MB."""
    find_java("a registry of schemas")
    folder = kept(f"registry-{VERSION}", fetch, lambda place: (place / RUNNER).is_file())
    return folder / RUNNER


def fetch(folder: Path) -> None:
    """Unpack it, if it is what it should be."""
    maven = shutil.which("mvn")
    if maven is None:
        raise LookupError("the registry of schemas has to be fetched once by mvn: install Maven")
    command = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={ARTIFACT}"]
    command.append(f"-DoutputDirectory={folder}")
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise LookupError(f"the registry of schemas could not be fetched: {done.stdout[:300]}")
    (archive,) = folder.glob("*.tar.gz")
    if hashlib.sha256(archive.read_bytes()).hexdigest() != CHECKSUM:
        raise LookupError(f"{archive.name} has another checksum than it should")
    unpack(archive, folder)
    archive.unlink()


class Registry(ServerProcess):
    """A registry that keeps its schemas in ``folder``; ``url`` is for the client of Confluent."""

    def __init__(self, folder: Path, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
        settings = {
            "quarkus.http.host": "127.0.0.1",
            "quarkus.http.port": str(port),
            "quarkus.datasource.jdbc.url": f"jdbc:h2:file:{folder}/schemas",
        }
        command = [str(find_java("a registry of schemas").command), *OPTIONS]
        command += [f"-D{name}={value}" for name, value in settings.items()]
        super().__init__([*command, "-jar", str(prepare_registry())], folder, self._is_ready)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False


@contextmanager
def running_registry(folder: Path) -> Iterator[Registry]:
    """A registry without schemas, until the end of the block."""
    with held_port() as port, running(registry := Registry(folder, port)):
        yield registry
