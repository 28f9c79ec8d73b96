"""Whether somebody listens where a cluster is said to be; Spark itself would ask for minutes."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from penstock.runtime import shown_address
from penstock.spark.failures import SparkUnavailable
from penstock.spark.private_api import connect_channel, limit_retries_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "INSTALL_CONNECT",
    "installed",
    "limit_retries",
    "missing_for_connect",
    "require_connect_server",
    "require_reachable",
]

INSTALL_CONNECT: Final = (
    "pip install 'pyspark[connect]', with an older Python where one of them has no wheel for this"
)
CONNECT_EXTRA: Final = re.compile(r"""extra\s*==\s*['"]connect['"]""")
NAME: Final = re.compile(r"[\w.-]+")

RETRIES: Final = 20


def require_reachable(what: str, address: str, port: int, timeout: float) -> None:
    """Refuse ``address`` if none of its hosts takes a connection within ``timeout`` seconds each.

    A port that is not named is ``port``.
    """
    problems = []
    for host, number in hosts_of(address, port):
        try:
            socket.create_connection((host, number), timeout).close()
        except OSError as error:
            reason = "no answer" if isinstance(error, TimeoutError) else error.strerror or error
            problems.append(f"{host}:{number}: {reason}")
        else:
            return
    raise SparkUnavailable(
        f"{what} {shown_address(address)} cannot be reached ({'; '.join(problems)}); start it, or "
        "correct the address"
    )


def require_connect_server(address: str, timeout: float) -> None:
    """Refuse ``address`` if nobody there speaks the protocol of Spark Connect in time."""
    if missing := missing_for_connect():
        raise SparkUnavailable(
            f"Spark Connect needs {', '.join(missing)}, not installed here; {INSTALL_CONNECT}"
        )
    import grpc

    require_reachable("the Spark Connect server", address, 15002, timeout)
    channel = connect_channel(address)
    try:
        grpc.channel_ready_future(channel).result(timeout)
    except grpc.FutureTimeoutError:
        raise SparkUnavailable(
            f"who listens at {shown_address(address)} has not answered as a Spark Connect server "
            f"within {timeout:g} seconds; correct the address"
        ) from None
    finally:
        channel.close()


def missing_for_connect() -> list[str]:
    """What Spark Connect needs by the words of pyspark, and is not installed; imports nothing."""
    wanted = (each.partition(";") for each in requires("pyspark") or ())
    names = [NAME.match(each) for each, _, marker in wanted if CONNECT_EXTRA.search(marker)]
    return sorted(name[0] for name in names if name and installed(name[0]) is None)


def installed(package: str) -> str | None:
    """The version of a package, which is not imported."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def limit_retries(session: SparkSession, timeout: float) -> None:
    """Let a session of Spark Connect find out soon that its server is gone.

    The session itself would try for ten minutes, and hold up all that need it.
    """
    limit_retries_of(session, RETRIES, timeout / RETRIES)


def hosts_of(address: str, port: int) -> Iterator[tuple[str, int]]:
    """The hosts of an address such as ``spark://one:7077,two:7077`` or ``sc://one/;token=x``."""
    _, _, hosts = address.partition("://")
    for each in hosts.partition("/")[0].split(","):
        place = urlsplit(f"//{each}")
        yield place.hostname or each, place.port or port
