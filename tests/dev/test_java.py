"""Which Java is used, and how the packaged one is started."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.dev.conftest import Checkout
from tools.java import major_version, write_java_home


@pytest.mark.parametrize(
    ("first_lines", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17)', 17),
        ('java version "1.8.0_392"\nJava(TM) SE Runtime Environment (build 1.8.0_392-b08)', 8),
        ('openjdk version "21" 2023-09-19\nOpenJDK Runtime Environment (build 21+35-2513)', 21),
        ('openjdk version "25-ea" 2025-09-16\nOpenJDK Runtime Environment (build 25-ea+12)', 25),
        ('java version "11.0.22" 2024-01-16 LTS\nJava(TM) SE Runtime Environment 18.9', 11),
        ('openjdk version "17.0.9" 2023-10-17\nIBM Semeru Runtime Open Edition 17.0.9.0', 17),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "22.0.1" 2024-04-16', 22),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
        ("", None),
    ],
)
def test_the_version_is_read_from_what_each_vendor_prints(
    first_lines: str, version: int | None
) -> None:
    assert major_version(first_lines) == version


def test_java_home_comes_before_the_path(checkout: Checkout) -> None:
    write_java(checkout, "commands/java", version="21.0.1", home="/on/path")
    write_java(checkout, "home/bin/java", version="17.0.1", home="/at/home")
    checkout.variables["JAVA_HOME"] = str(checkout.root / "home")
    assert checkout.run("java") == (0, "Java 17 at /at/home\n", "")


def test_a_java_that_is_too_old_is_passed_over(checkout: Checkout) -> None:
    write_java(checkout, "commands/java", version="21.0.1", home="/on/path")
    write_java(checkout, "home/bin/java", version="1.8.0_392", home="/at/home")
    checkout.variables["JAVA_HOME"] = str(checkout.root / "home")
    assert checkout.run("java") == (0, "Java 21 at /on/path\n", "")


def test_the_launcher_drops_the_missing_module_and_nothing_else(tmp_path: Path) -> None:
    runtime = tmp_path / "the runtime"
    (runtime / "bin").mkdir(parents=True)
    (runtime / "release").touch()
    (runtime / "bin" / "java").write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    (runtime / "bin" / "java").chmod(0o755)
    home = tmp_path / "home"
    write_java_home(home, runtime)
    given = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "*", "", "--add-modules=x"]
    started = subprocess.check_output([home / "bin" / "java", *given], text=True)
    assert started == "<-cp><a b><*><><--add-modules=x>"
    assert (home / "release").exists()


def write_java(checkout: Checkout, path: str, version: str, home: str) -> None:
    checkout.write_script(
        path,
        "#!/bin/sh\n"
        "[ $1 = -XshowSettings:properties ] || exit 1\n"
        f"echo '    java.home = {home}' >&2\n"
        f"echo 'openjdk version \"{version}\" 2024-01-16' >&2\n",
    )
