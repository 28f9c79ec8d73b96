"""The packages of others that penstock works with, and whether they are installed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Final, NamedTuple

from penstock.cli.findings import Finding, State

__all__ = ["EXTRAS", "Package", "findings_for", "installed"]


class Package(NamedTuple):
    """A package and the versions that will do: from ``oldest`` up to, but without, ``below``."""

    name: str
    oldest: str = ""
    below: str = ""

    def suits(self, found: str) -> bool:
        """Whether this version will do."""
        number = numbers(found)
        return numbers(self.oldest) <= number and (not self.below or number < numbers(self.below))

    @property
    def wanted(self) -> str:
        """The versions in words."""
        oldest = f" {self.oldest} or newer" if self.oldest else ""
        return f"{self.name}{oldest}" + (f", below {self.below}" if self.below else "")


SERVING: Final = (Package("starlette", "0.45"), Package("uvicorn", "0.34"))
EXTRAS: Final[Mapping[str, tuple[Package, ...]]] = {
    "cli": (Package("click", "8.1"), Package("rich", "13")),
    "spark": (
        Package("pyspark", "4.3", "4.4"),
        Package("pyarrow", "18"),
        Package("pandas", "2.2", "3"),
    ),
    "connectors": (
        Package("websockets", "15"),
        Package("httpx", "0.28"),
        Package("httpx-sse", "0.4"),
        *SERVING,
    ),
    "dashboard": SERVING,
    "prometheus": (Package("prometheus-client", "0.21"),),
    "opentelemetry": (Package("opentelemetry-api", "1.30"),),
}
NEEDED: Final = ("cli", "spark")
"""Without these no pipeline runs on Spark."""


def findings_for(extras: Mapping[str, tuple[Package, ...]] = EXTRAS) -> Iterator[Finding]:
    """One finding for each extra."""
    for extra, packages in extras.items():
        found = {package: installed(package.name) for package in packages}
        wrong = [
            f"{package.wanted} is needed, and {number or 'none'} is installed"
            for package, number in found.items()
            if number is None or not package.suits(number)
        ]
        if wrong:
            state: State = "problem" if extra in NEEDED else "warning"
            yield Finding(extra, state, "; ".join(wrong), f"pip install 'penstock[{extra}]'")
        else:
            words = ", ".join(f"{package.name} {number}" for package, number in found.items())
            yield Finding(extra, "ok", words)


def installed(name: str) -> str | None:
    """The version of a package, which is not imported."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def numbers(text: str) -> tuple[int, ...]:
    """A version as it is compared: its leading numbers."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()
