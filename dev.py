#!/usr/bin/env python3
"""Everything a contributor runs, with nothing prepared: ``python3 dev.py test``.

Each command makes the virtual environment hold what it needs, which costs nothing when it
already does, and then hands over to the tool. This file and ``tools/`` need only the standard
library and no syntax newer than Python 3.8, so that an old Python gets an answer, not a traceback.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from tools.audit import look_for_faults, write_bill
from tools.environment import Environment, Problem, say
from tools.java import QUESTION, provide_java
from tools.release import set_release, try_as_stranger, what_is_left

ROOT = Path(__file__).resolve().parent
OLDEST_PYTHON = (3, 11)
FOLDER = "PENSTOCK_DEV_ENVIRONMENT"  # how one Python tells another which environment to use
PYTHON_NEEDS = "a version, such as 3.13, or the path of a Python"
SPARK_NEEDS = "a series, such as 4.0"
OTHER_PYTHONS = ("python3.14", "python3.13", "python3.12", "python3.11")

# What uv locks for each set of requirements. Every command installs "dev"; another set is
# installed only by the commands that need it.
REQUIREMENT_SETS = {
    "dev": ("--group=dev", "--extra=cli"),
    "java": ("--extra=java", "--constraint=requirements/dev.txt"),
    "jvm": ("--extra=jvm", "--constraint=requirements/dev.txt"),
    "spark": ("--extra=spark", "--group=data", "--constraint=requirements/dev.txt"),
    "tool": (
        "--extra=connectors",
        "--extra=dashboard",
        "--extra=opentelemetry",
        "--extra=prometheus",
        "--constraint=requirements/dev.txt",
        "--constraint=requirements/spark.txt",
    ),
    # The clients of the systems that connectors lead to; the demo needs none of them.
    "systems": (
        "--extra=delta",
        "--extra=duckdb",
        "--extra=iceberg",
        "--extra=kafka",
        "--extra=nats",
        "--extra=postgres",
        "--extra=redis",
        "--extra=s3",
        "--constraint=requirements/dev.txt",
        "--constraint=requirements/spark.txt",
        "--constraint=requirements/tool.txt",
    ),
    "test-tools": (
        "--group=test-tools",
        "--constraint=requirements/dev.txt",
        "--constraint=requirements/tool.txt",
        "--constraint=requirements/systems.txt",
    ),
    "s3-server": ("--group=s3-server",),
    "bench": ("--group=bench", "--constraint=requirements/dev.txt"),
    "release": ("--group=release", "--constraint=requirements/dev.txt"),
    "audit": (
        "--group=audit",
        "--constraint=requirements/dev.txt",
        "--constraint=requirements/spark.txt",
        "--constraint=requirements/tool.txt",
        "--constraint=requirements/systems.txt",
        "--constraint=requirements/test-tools.txt",
    ),
}
# Each older series of Spark stands in for the set "spark", beside the same others.
NEWEST_SPARK = "4.3"
OLDER_SPARKS = ("4.0", "4.1", "4.2")
for series in OLDER_SPARKS:
    REQUIREMENT_SETS[f"spark-{series}"] = (
        "--extra=spark",
        f"--group=spark-{series}",
        "--group=data",
        "--constraint=requirements/dev.txt",
        "--constraint=requirements/tool.txt",
        "--constraint=requirements/systems.txt",
        "--constraint=requirements/test-tools.txt",
    )

# What the tests import, and so what the type checker reads.
TESTED = ("java", "jvm", "spark", "tool", "systems", "test-tools")

# What --spark runs if nothing else is named: the folders in which a test may start Spark.
TESTS_OF_SPARK = ("tests/spark", "tests/pipeline", "tests/connectors/test_on_spark.py")

TOOLS = {
    "ruff check": ("ruff", "check"),
    "ruff format": ("ruff", "format", "--check"),
    "mypy": ("mypy",),
    "import-linter": ("lint-imports", "--no-logo"),
}
STYLE_TESTS = ("pytest", "-q", "tests/style", "--ignore=tests/style/test_tools.py")


def run_demo(environment: Environment, arguments: list[str]) -> int:
    """Run the demo: a blizzard goes through Spark, with a page to watch it."""
    environment.prepare("spark", "tool")
    provide_java(environment)
    environment.become("-m", "penstock.demo", *arguments)


def run_tests(environment: Environment, arguments: list[str]) -> int:
    """Run the tests, four at a time; --full adds the long ones."""
    environment.prepare(*TESTED)
    # Four for two cores, since many tests wait. Each process begins with its quarter, in which the
    # tests of Spark stay together; who is done first takes from the others.
    environment.become("-m", "pytest", "-n4", "--dist=worksteal", *arguments)


def run_checks(environment: Environment, arguments: list[str]) -> int:
    """Run the linter, the formatter, the type checker, the import and the style checks."""
    refuse(arguments)
    environment.prepare(*TESTED)
    failed = []
    for name, (script, *options) in {**TOOLS, "style tests": STYLE_TESTS}.items():
        started = time.monotonic()
        code, output = environment.call(script, *options)
        seconds = time.monotonic() - started
        print(f"{name:<14} {'FAILED' if code else 'ok':<7} {seconds:5.1f} s", flush=True)
        if code:
            failed.append(name)
            print(output)
    if failed:
        print("failed: " + ", ".join(failed))
    return 1 if failed else 0


def run_benchmarks(environment: Environment, arguments: list[str]) -> int:
    """Measure speed and memory, also those of other libraries."""
    environment.prepare("bench", "jvm", "spark", "tool", "systems")
    provide_java(environment)
    environment.become("-m", "benchmarks", *arguments)


def build_docs(environment: Environment, arguments: list[str]) -> int:
    """Build the documentation and run its examples; a warning is an error."""
    refuse(arguments)
    environment.prepare(
        "spark", "tool", "systems"
    )  # whose parts of the reference are read from the code
    for builder in ("html", "doctest"):
        options = ("-qW", "--keep-going", "-b", builder, "docs", f"docs/_build/{builder}")
        code, output = environment.call("sphinx-build", *options)
        if code:
            print(output)
            return code
    print(f"The examples pass. The pages: {environment.root / 'docs/_build/html/index.html'}")
    return 0


def build_distributions(environment: Environment, arguments: list[str]) -> int:
    """Build the source distribution, and the wheel from that, into dist."""
    refuse(arguments)
    environment.prepare()
    return make_distributions(environment)


def make_distributions(environment: Environment) -> int:
    """Build both, in an environment that is prepared."""
    folder = environment.root / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    commands = (
        ("hatchling", "build", "-t", "sdist", "-d", str(folder)),
        # From there and not from here: so nothing is in it that the source distribution lacks.
        ("pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder)),
    )
    for script, *options in commands:
        code, output = environment.call(script, *options, *map(str, folder.glob("*.tar.gz")))
        if code:
            print(output)
            return code
    for built in sorted(folder.iterdir()):
        print(built)
    return 0


def make_release(environment: Environment, arguments: list[str]) -> int:
    """Make a release, such as 0.2.0: version, changelog, dist; try it, and say what is left."""
    if len(arguments) != 1:
        raise Problem("a release has a version: python3 dev.py release 0.2.0")
    environment.prepare("release")
    set_release(environment, arguments[0])
    code = make_distributions(environment)
    if not code:
        try_as_stranger(environment, environment.root / "dist")
        print(what_is_left(arguments[0]))
    return code


def show_java(environment: Environment, arguments: list[str]) -> int:
    """Say which Java Spark gets; installs one where the machine has none."""
    refuse(arguments)
    environment.prepare()
    provide_java(environment)
    environment.become(*QUESTION)


def run_audit(environment: Environment, arguments: list[str]) -> int:
    """Look for known faults in what is locked, and write an SBOM; 3 if nobody could be asked."""
    refuse(arguments)
    environment.prepare("jvm", "spark", "tool", "systems", "audit")
    print(f"The bill of materials: {write_bill(environment)}", flush=True)
    return look_for_faults(environment, REQUIREMENT_SETS)


def write_locks(environment: Environment, arguments: list[str]) -> int:
    """Write requirements/ anew from pyproject.toml, by uv; --upgrade takes newer versions."""
    uv = shutil.which("uv")
    if uv is None:
        raise Problem("the lock files are written by uv, which is not on PATH.")
    command = [uv, "pip", "compile", "pyproject.toml", "--quiet", "--universal"]
    command += ["--python-version=3.11", "--fork-strategy=fewest", "--generate-hashes"]
    command += ["--custom-compile-command=python3 dev.py lock", *arguments]
    for name, selection in REQUIREMENT_SETS.items():
        target = f"--output-file=requirements/{name}.txt"
        code = subprocess.call([*command, *selection, target], cwd=environment.root)
        if code:
            return code
    return 0


def refuse(arguments: list[str]) -> None:
    """For the commands that take no arguments."""
    if arguments:
        raise Problem(f"this command takes no arguments, but got: {' '.join(arguments)}")


COMMANDS: dict[str, Callable[[Environment, list[str]], int]] = {
    "demo": run_demo,
    "test": run_tests,
    "check": run_checks,
    "bench": run_benchmarks,
    "docs": build_docs,
    "build": build_distributions,
    "release": make_release,
    "java": show_java,
    "audit": run_audit,
    "lock": write_locks,
}


def help_text() -> str:
    """What ``--help`` prints."""
    commands = "\n".join(f"  {name:<7} {run.__doc__}" for name, run in COMMANDS.items())
    return f"""usage: python3 dev.py COMMAND [ARGUMENTS]

{commands}

Further arguments of demo, test and bench go to the demo, pytest and the benchmarks.
Every command sets up what it needs in .venv; nothing has to be installed before.
With --python 3.13, or the path of a Python, it runs under that one, in .venv-3.13.
With --spark 4.0 it runs with the last release of that series of Spark, in .venv-spark-4.0; then
test alone runs {", ".join(TESTS_OF_SPARK)}.
The series are {", ".join(OLDER_SPARKS)} and {NEWEST_SPARK}, which is the one in .venv."""


def without_option(option: str, needs: str, arguments: list[str]) -> tuple[str, list[str]]:
    """What ``option`` asks for, if it is there, and the other arguments."""
    if option not in arguments:
        return "", arguments
    at = arguments.index(option)
    if at + 1 == len(arguments):
        raise Problem(f"{option} needs {needs}.")
    return arguments[at + 1], arguments[:at] + arguments[at + 2 :]


def go_on_under(python: str, arguments: list[str]) -> NoReturn:
    """Run the command under another Python, which has an environment of its own."""
    name = python if os.sep in python else f"python{python}"
    path = shutil.which(name)
    probe = "import sys; print('%d.%d' % sys.version_info[:2])"
    # Version managers leave commands on PATH that only say which version to activate.
    code, version = subprocess.getstatusoutput(f'"{path}" -c "{probe}"') if path else (1, "")
    if not path or code:
        raise Problem(f"--python {python}: there is no {name} that works; is it on PATH?")
    os.environ[FOLDER] = f".venv-{version}"
    os.execv(path, [path, str(ROOT / "dev.py"), *arguments])


def environment_for(series: str) -> Environment:
    """The environment of this Python and a series of Spark; that of the newest has no own name."""
    folder = os.environ.pop(FOLDER, ".venv")
    if series in ("", NEWEST_SPARK):
        return Environment(ROOT, folder)
    if series not in OLDER_SPARKS:
        known = ", ".join((*OLDER_SPARKS, NEWEST_SPARK))
        raise Problem(f"--spark {series}: there are locks for {known}.")
    return Environment(ROOT, f"{folder}-spark-{series}", {"spark": f"spark-{series}"})


def require_python(arguments: list[str]) -> None:
    """Go on under a newer Python from ``PATH`` if this one is too old."""
    if sys.version_info >= OLDEST_PYTHON:
        return
    probe = f"import sys; sys.exit(sys.version_info < {OLDEST_PYTHON})"
    for name in OTHER_PYTHONS:
        path = shutil.which(name)
        # Version managers leave commands on PATH that only say which version to activate.
        if path and subprocess.call([path, "-c", probe], stderr=subprocess.DEVNULL) == 0:
            os.execv(path, [path, str(ROOT / "dev.py"), *arguments])
    oldest, this = (".".join(map(str, v[:3])) for v in (OLDEST_PYTHON, sys.version_info))
    raise Problem(
        f"Penstock needs Python {oldest} or newer. This is Python {this}, and none of "
        f"{', '.join(OTHER_PYTHONS)} works on PATH."
    )


def main(arguments: list[str]) -> int:
    """Run one command; the result is the exit code."""
    if arguments[:1] in (["--help"], ["-h"], ["help"]):
        print(help_text())
        return 0
    try:
        if not arguments or arguments[0] not in COMMANDS:
            given = f"unknown command {arguments[0]!r}" if arguments else "no command given"
            raise Problem(f"{given}; the commands are {', '.join(COMMANDS)}. See --help.")
        python, arguments = without_option("--python", PYTHON_NEEDS, arguments)
        if python:
            go_on_under(python, arguments)
        require_python(arguments)
        series, arguments = without_option("--spark", SPARK_NEEDS, arguments)
        if series and arguments == ["test"]:
            arguments = ["test", *TESTS_OF_SPARK]
        return COMMANDS[arguments[0]](environment_for(series), arguments[1:])
    except (Problem, OSError) as problem:
        say(str(problem))
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
