"""The process that Spark asks about a source, in a tenth of the time that it takes to start.

Spark starts it anew for each source of each query, and what it does at first is to load pyspark.
Here it is forked from a process that has done so. All else that Spark starts is the Python that
users get, and programs that tests run get it for all; with ``--full``, so do the tests themselves.

``python -m tests.forked_python SOCKET`` is the process that forks, until its standard input ends.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from tests.spark.capabilities import has_read_limits

__all__ = ["forked_python"]

ROOT: Final = Path(__file__).parents[1]
ASKED: Final = "pyspark.sql.streaming.python_streaming_source_runner"
LOADED: Final = (ASKED, "penstock.spark.workers.journal_source")
# These ask for something that older releases of Spark do not have.
LOADED_WITH_READ_LIMITS: Final = ("penstock.spark.workers.partitioned_source",)
LAUNCHER: Final = """\
#!/bin/sh
[ "$1 $2" = "-m {asked}" ] && exec {python} -I -S {client} {socket} "$@"
exec {others} "$@"
"""
# What Spark starts: it hands all that it has to the process that forks, and ends when the one ends
# that is forked. If it is killed, so is that.
CLIENT: Final = """\
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    told = json.dumps([sys.argv[2:], dict(os.environ), os.getcwd()]).encode()
    socket.send_fds(connection, [len(told).to_bytes(4, "big")], [0, 1, 2])
    connection.sendall(told)
    connection.recv(1)
"""


def forked_python(others: Callable[[], str]) -> Callable[[], str]:
    """What takes the place of ``others``, which gives the Python for everything else."""
    return cache(lambda: started(others()))


def started(others: str) -> str:
    """Start the process that forks, for as long as this one runs; the command to give to Spark."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-forked-"))
    place, client, launcher = folder / "socket", folder / "client.py", folder / "python"
    client.write_text(CLIENT)
    parts = {"python": sys.executable, "client": client, "socket": place, "others": others}
    quoted = {name: shlex.quote(str(part)) for name, part in parts.items()}
    launcher.touch(mode=0o700)
    launcher.write_text(LAUNCHER.format(asked=ASKED, **quoted))
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(place)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(end, process, folder)
    return str(launcher)


def end(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Let it end, and wait for that."""
    process.communicate()
    shutil.rmtree(folder, ignore_errors=True)


class Request(NamedTuple):
    """How Spark has started a process, and its standard input, output and error."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    files: list[int]


def serve(place: str) -> None:
    """Fork for each who connects, until the standard input ends."""
    for module in (*LOADED, *(LOADED_WITH_READ_LIMITS if has_read_limits() else ())):
        import_module(module)
    del sys.modules[ASKED]  # it will be run, as if it had never been loaded
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who have ended
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which ends the tests, and so this
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen(64)
        os.write(1, b"ready\n")
        while listening.fileno() in select.select([listening.fileno(), 0], [], [])[0]:
            connection, _ = listening.accept()
            request = received(connection)
            if request is not None and os.fork() == 0:
                listening.close()
                become(request, connection)
                return
            connection.close()
            for file in request.files if request is not None else ():
                os.close(file)


def received(connection: socket.socket) -> Request | None:
    """What the one that Spark has started has told, unless it was killed before."""
    size, files, _, _ = socket.recv_fds(connection, 4, 3)
    told = connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    try:
        arguments, environment, folder = json.loads(told)
    except ValueError:
        return None
    return Request(arguments, environment, folder, list(files))


def become(request: Request, connection: socket.socket) -> None:
    """Be what Spark has started."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in enumerate(request.files):
        os.dup2(file, number)
        os.close(file)
    installed = [place for place in sys.path if place not in (str(ROOT), *python_path())]
    os.environ.clear()
    os.environ.update(request.environment)
    os.chdir(request.folder)
    sys.path[:] = [request.folder, *python_path(), *installed]
    threading.Thread(target=die_with, args=[connection], daemon=True).start()
    _, module, *sys.argv[1:] = request.arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def python_path() -> list[str]:
    """The places in that variable, but for those that Spark has put there."""
    places = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [place for place in places if place and not place.endswith((".zip", ".jar"))]


def die_with(connection: socket.socket) -> None:
    """If the other end of the connection is killed, so is this process."""
    connection.recv(1)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    serve(sys.argv[1])
