"""The virtual environment of the checkout: made, repaired, reused, and shared by all commands.

Only the standard library, and no syntax newer than Python 3.8: see ``dev.py``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

try:
    import fcntl
except ImportError:
    sys.exit("dev.py: works on Linux, on macOS and in the Windows Subsystem for Linux.")

SETUP_VERSION = 1  # counted up when the set-up itself changes, so that every .venv is made anew


class Problem(Exception):
    """What the contributor has to fix; the text is all that gets printed."""


def say(message: str) -> None:
    """Print to standard error: standard output belongs to the tools."""
    print("dev.py: " + message, file=sys.stderr, flush=True)


class Environment:
    """A folder such as ``.venv``, and which sets of requirements are installed in it.

    Each set has its lock file ``requirements/<set>.txt``. It counts as installed when its stamp,
    written last of all, matches the lock file, the project and the Python that runs this, and
    what it installed is still there. An environment without all that is built anew.

    ``stand_ins`` are the sets that it has instead of others, by the names of these.
    """

    def __init__(
        self, root: Path, name: str = ".venv", stand_ins: dict[str, str] | None = None
    ) -> None:
        self.root = root
        self.stand_ins = stand_ins or {}
        self.folder = root / name
        self.scripts = self.folder / "bin"
        self.python = self.scripts / "python"
        self._guard = -1

    def prepare(self, *further_sets: str) -> None:
        """Install what is missing of ``dev`` and the further sets.

        From here to the end of this process nobody else changes the environment.
        """
        sets = [self.stand_ins.get(name, name) for name in further_sets]
        self._acquire(fcntl.LOCK_SH)
        if all(self.holds(name) for name in ("dev", *sets)):
            return
        with self.alone():
            if not self.holds("dev"):
                self._build()
            for name in sets:
                if not self.holds(name):
                    self._install(name)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Change the environment while no other process uses it."""
        self._acquire(fcntl.LOCK_EX)
        try:
            yield
        finally:
            self._acquire(fcntl.LOCK_SH)

    def holds(self, name: str) -> bool:
        """Whether the set was installed from today's files and is still there."""
        try:
            fingerprint, *distributions = self._stamp(name).read_text().splitlines()
        except (OSError, ValueError):
            return False
        return (
            fingerprint == self._fingerprint(name)
            and os.access(self.python, os.X_OK)
            and self._distributions().issuperset(distributions)
        )

    def become(self, *arguments: str) -> NoReturn:
        """Replace this process by Python in here: signals and the exit code are the tool's own."""
        os.set_inheritable(self._guard, True)
        os.chdir(self.root)
        command = [str(self.python), *arguments]
        os.execve(command[0], command, self._variables())

    def call(self, script: str, *arguments: str) -> tuple[int, str]:
        """Run one of the installed scripts: its exit code, and all that it printed."""
        done = subprocess.run(
            [str(self.scripts / script), *arguments],
            check=False,
            cwd=self.root,
            env=self._variables(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        return done.returncode, done.stdout

    def _variables(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.scripts), os.environ.get("PATH", os.defpath)])
        variables = {**os.environ, "VIRTUAL_ENV": str(self.folder), "PATH": path}
        # Compiled modules are kept: what runs in here starts hundreds of processes, and each would
        # compile all that it imports.
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        return variables

    def _acquire(self, kind: int) -> None:
        """Take the lock shared, to use the environment, or alone, to change it."""
        if self._guard < 0:
            self._guard = os.open(str(self.folder) + ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._guard, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another dev.py that is at work in this checkout")
            fcntl.flock(self._guard, kind)

    def _lock_file(self, name: str) -> Path:
        return self.root / "requirements" / f"{name}.txt"

    def _stamp(self, name: str) -> Path:
        return self.folder / f"{name}.stamp"

    def _fingerprint(self, name: str) -> str:
        import tomllib  # new in 3.11

        project = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))
        facts = (
            SETUP_VERSION,
            sys.version_info[:2],
            str(self.root),  # a copied environment still points to the checkout it came from
            [project["build-system"], project["project"], project["tool"]["hatch"]],
            self._lock_file(name).read_text(encoding="utf-8"),
        )
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def _distributions(self) -> set[str]:
        return {found.name for found in self.folder.glob("lib/*/site-packages/*.dist-info")}

    def _build(self) -> None:
        started = time.monotonic()
        uv = shutil.which("uv")
        if uv is None:
            require_venv_module()
        version = ".".join(map(str, sys.version_info[:3]))
        again = " anew" if self.folder.exists() else ""
        name, installer = self.folder.name, "uv" if uv else "pip"
        say(f"setting up {name}{again} for Python {version}, with {installer}")
        self._remove()
        # Asked of a virtual environment's Python, perhaps this one's, the base is the real one.
        python = getattr(sys, "_base_executable", None) or sys.executable
        maker = [uv, "venv", "--quiet", "--python", python] if uv else [python, "-m", "venv"]
        self._run(*maker, str(self.folder))
        self._pip_install("--require-hashes", "-r", str(self._lock_file("dev")))
        self._pip_install("--no-deps", "--no-build-isolation", "--editable", str(self.root))
        self._write_stamp("dev")
        say(f"ready after {time.monotonic() - started:.0f} s")

    def _remove(self) -> None:
        if self.folder.is_symlink() or self.folder.is_file():
            self.folder.unlink()
        elif self.folder.exists():
            # The stamp goes first: a removal that is interrupted must not leave it behind.
            self._stamp("dev").unlink(missing_ok=True)
            shutil.rmtree(self.folder)

    def _install(self, name: str) -> None:
        say(f"installing requirements/{name}.txt")
        self._pip_install("--require-hashes", "-r", str(self._lock_file(name)))
        self._write_stamp(name)

    def _write_stamp(self, name: str) -> None:
        lines = [self._fingerprint(name), *sorted(self._distributions())]
        self._stamp(name).write_text("\n".join(lines) + "\n")

    def _pip_install(self, *arguments: str) -> None:
        uv = shutil.which("uv")
        installer = [uv, "pip"] if uv else [str(self.python), "-m", "pip"]
        where = ["--python", str(self.python)] if uv else ["--disable-pip-version-check"]
        self._run(*installer, "install", "--quiet", *where, *arguments)

    def _run(self, *command: str) -> None:
        # Shown on failure only: an installer that is interrupted prints a long farewell.
        done = subprocess.run(
            command,
            check=False,
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        if done.returncode:
            shown = " ".join(map(shlex.quote, command))
            raise Problem(
                f"the set-up of {self.folder.name} failed, with exit code {done.returncode} from\n"
                f"  {shown}\n{done.stdout}"
                "The next run starts the set-up from the beginning."
            )


def require_venv_module() -> None:
    """Debian and its kin split off the part of Python that makes virtual environments."""
    if all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        return
    version = ".".join(map(str, sys.version_info[:2]))
    raise Problem(
        f"this Python {version} cannot make virtual environments: venv or ensurepip is missing.\n"
        f"On Debian and Ubuntu: sudo apt install python{version}-venv (or python3-venv).\n"
        "Elsewhere: install a complete Python, or uv, which needs neither."
    )
