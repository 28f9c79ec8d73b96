"""Certificates for tests, of an authority that nobody else trusts, made by OpenSSL."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path
from typing import NamedTuple

__all__ = ["Authority", "Certificate", "prepare_openssl"]

CONFIG = """
[ca]
default_ca = authority
[authority]
dir = {folder}
database = {folder}/index
new_certs_dir = {folder}
serial = {folder}/serial
certificate = {folder}/authority.pem
private_key = {folder}/authority.key
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
"""
EXTENSIONS = "basicConstraints = CA:FALSE\nsubjectAltName = {names}\n"
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
BEGINNING, END, LONG_AGO = "20200101000000Z", "20491231000000Z", "20200102000000Z"


def prepare_openssl() -> None:
    """Raise ``LookupError`` where there is no OpenSSL."""
    if shutil.which("openssl") is None:
        raise LookupError("there is no openssl command; install OpenSSL")


class Certificate(NamedTuple):
    """The files of a server."""

    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """For a server that is none of ours."""
        made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        made.load_cert_chain(self.certificate, self.key)
        return made


class Authority:
    """Signs what a test needs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self.file = folder / "authority.pem"
        folder.joinpath("config").write_text(CONFIG.format(folder=folder))
        folder.joinpath("index").touch()
        folder.joinpath("serial").write_text("1000\n")
        openssl(
            "req", "-x509", *KEY, "-keyout", folder / "authority.key", "-out", self.file,
            "-days", "3650", "-subj", "/CN=An authority of the tests",
            "-addext", "keyUsage = critical, keyCertSign, cRLSign",
        )  # fmt: skip

    def certificate(self, name: str, names: str, end: str = END) -> Certificate:
        """Of a server at ``names``, such as "IP:127.0.0.1"."""
        stem = self._folder / name
        key, request, signed = (stem.with_suffix(f".{kind}") for kind in ("key", "csr", "pem"))
        extensions = stem.with_suffix(".extensions")
        extensions.write_text(EXTENSIONS.format(names=names))
        openssl("req", *KEY, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        openssl(
            "ca", "-batch", "-notext", "-config", self._folder / "config", "-in", request,
            "-out", signed, "-extfile", extensions, "-startdate", BEGINNING, "-enddate", end,
        )  # fmt: skip
        return Certificate(signed, key)

    def for_here(self) -> Certificate:
        """Of a server of this machine."""
        return self.certificate("here", "IP:127.0.0.1, DNS:localhost")

    def for_elsewhere(self) -> Certificate:
        """Of a server at another place."""
        return self.certificate("elsewhere", "DNS:elsewhere.example")

    def expired(self) -> Certificate:
        """Of a server of this machine that was trusted once."""
        return self.certificate("expired", "IP:127.0.0.1, DNS:localhost", LONG_AGO)


def openssl(*arguments: str | Path) -> None:
    """Run OpenSSL; what it says is in the error if it fails."""
    command = ["openssl", *map(str, arguments)]
    finished = subprocess.run(command, check=False, capture_output=True, text=True)
    if finished.returncode:
        raise RuntimeError(f"openssl {arguments[0]}: {finished.stderr}")
