"""A PostgreSQL server of the tests' own, and ``psql``, which sees it as any other program does."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from pwd import getpwnam
from threading import Event
from time import monotonic
from typing import Final, NamedTuple

import pytest

from tests.held_port import held_port
from tests.servers.process import LOOK, PATIENCE, ServerProcess, running

__all__ = [
    "PASSWORD",
    "Database",
    "PostgresServer",
    "postgres_database",
    "postgres_server",
    "prepare_postgres",
    "running_postgres",
]

DATABASE: Final = "postgres"
USER: Final = "penstock"
PASSWORD: Final = "s3cret'of\\ours"
PLACES: Final = ("/usr/lib/postgresql", "/usr/local/pgsql", "/opt/homebrew/opt", "/usr/local/opt")
SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "log_line_prefix": "%a: ",
    "fsync": "off",  # what a process has written outlives the process
    "shared_buffers": "32MB",
    "wal_level": "logical",
    "max_replication_slots": "100",
}


class PostgresUnavailable(LookupError):
    """There is no server, or nobody who may run it; the text says how to get one."""


def find_program(name: str) -> str:
    """The path of one of PostgreSQL's programs; those of the server need not be on ``PATH``.

    What Debian has on ``PATH`` is a script that looks for the program, and takes longer than that.
    """
    beside = [found for place in PLACES for found in sorted(Path(place).glob(f"*/bin/{name}"))]
    path = str(beside[-1]) if beside else shutil.which(name)
    if path is None:
        raise PostgresUnavailable(f"there is no {name}: apt-get install postgresql")
    return path


def prepare_postgres() -> None:
    """Find all that a test of PostgreSQL needs."""
    for name in ("initdb", "postgres", "psql"):
        find_program(name)
    server_user()


def server_user() -> str | None:
    """Who runs the server, which refuses to run as root; ``None``: the one who runs the tests."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return getpwnam(name).pw_name
        except KeyError:
            continue
    raise PostgresUnavailable("the server does not run as root, and there is no user postgres")


class Database(NamedTuple):
    """A schema of its own on the server: much cheaper than a database, and as good for a test.

    ``conninfo`` is for clients, ``psql`` asks without ours. Connections are called like the schema.
    """

    name: str
    port: int

    @property
    def conninfo(self) -> str:
        password = PASSWORD.replace("\\", "\\\\").replace("'", "\\'")
        access = f"user={USER} password='{password}' application_name={self.name}"
        place = f"host=127.0.0.1 port={self.port} dbname={DATABASE}"
        return f"{place} {access} options='-c search_path={self.name}'"

    @property
    def logged(self) -> str:
        """The same, of which the server writes down each statement."""
        return f"{self.conninfo} options='-c search_path={self.name} -c log_statement=all'"

    @property
    def address(self) -> str:
        """How messages call it."""
        return f"postgresql://127.0.0.1:{self.port}/{DATABASE}"

    def psql(self, command: str, *options: str) -> list[tuple[str, ...]]:
        """The rows of the answer as texts; NULL is ``\\N``."""
        done = subprocess.run(
            [find_program("psql"), "-XqAt", "-F", "\t", "-P", "null=\\N", "-v", "ON_ERROR_STOP=1",
             *options, "-h", "127.0.0.1", "-p", str(self.port), "-U", USER, "-d", DATABASE,
             "-c", command],
            env={
                **os.environ,
                "PGPASSWORD": PASSWORD,
                "PGOPTIONS": f"-c search_path={self.name}",
                "PGAPPNAME": "psql",
            },
            check=False,
            capture_output=True,
            text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [tuple(line.split("\t")) for line in done.stdout.splitlines()]


class PostgresServer(ServerProcess):
    """A server that was made in ``folder``, which belongs to ``user``."""

    def __init__(
        self, folder: Path, port: int, user: str | None, settings: Mapping[str, str]
    ) -> None:
        self._numbers = count(1)
        self.port = port
        self.log = folder / "log.txt"
        given = [part for each in settings.items() for part in ("-c", "=".join(each))]
        super().__init__(
            [find_program("postgres"), "-D", str(folder / "data"), "-p", str(port), *given],
            folder,
            self._is_ready,
            user=user,
            stop_signal=signal.SIGINT,  # by SIGTERM it would wait until all clients are gone
        )

    def database(self) -> Database:
        """A new one, which is empty."""
        made = Database(f"test_{next(self._numbers)}", self.port)
        made.psql(f"CREATE SCHEMA {made.name}")
        return made

    def statements(self, database: Database, containing: str) -> list[str]:
        """What was asked there, of connections that have it logged (``database.logged``)."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [
            line.rpartition(": ")[2]
            for line in lines
            if line.startswith(f"{database.name}: LOG:") and containing in line
        ]

    def stop_softly(self) -> None:
        """Have it turn away new clients until those that are there are gone; then it ends."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        refused = [find_program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(refused, check=False).returncode == 0:
            pass

    def kill(self) -> None:
        """``kill -9`` of the process that all others wait for; those end by themselves."""
        process = self._process
        others = [] if process is None else children_of(process.pid)
        super().kill()
        end = monotonic() + PATIENCE
        while any(map(is_alive, others)) and monotonic() < end:
            Event().wait(LOOK)

    def _is_ready(self) -> bool:
        ready = [find_program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(ready, check=False).returncode == 0


def children_of(parent: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], check=True, capture_output=True, text=True
    )
    pairs = (line.split() for line in listed.stdout.splitlines())
    return [int(pid) for pid, parent_pid in pairs if int(parent_pid) == parent]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def running_postgres(**settings: str) -> Iterator[PostgresServer]:
    """A server with an empty folder of its own, until the end of the block."""
    user = server_user()
    with tempfile.TemporaryDirectory(prefix="penstock-postgres-") as name, held_port() as port:
        folder = Path(name)
        password = folder / "password"
        password.write_text(PASSWORD)
        if user is not None:
            for path in (folder, password):
                shutil.chown(path, user, getpwnam(user).pw_gid)
        subprocess.run(
            [find_program("initdb"), "-D", str(folder / "data"), "-U", USER, "-A", "md5",
             "--pwfile", str(password), "-E", "UTF8", "--locale=C", "--no-sync"],
            cwd=folder,
            user=user,
            group=None if user is None else getpwnam(user).pw_gid,
            check=True,
            capture_output=True,
        )  # fmt: skip
        server = PostgresServer(folder, port, user, {**SETTINGS, **settings})
        with running(server):
            yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The server of this process of tests."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_database(postgres_server: PostgresServer) -> Database:
    """A schema that no other test has."""
    return postgres_server.database()
