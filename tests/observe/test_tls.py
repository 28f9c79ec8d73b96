"""The page by TLS: with a certificate and its key, or not at all."""

from __future__ import annotations

import shutil
import ssl
from pathlib import Path

import httpx
import pytest

from penstock.observe import Observer
from penstock.observe.dashboard import Dashboard, DashboardUnavailable
from tests.cli.processes import penstock_command
from tests.observe.driven import TOKEN
from tests.observe.opening import opened

CERTIFICATES = Path(__file__).with_name("certificates")


def kept(folder: Path, name: str, mode: int = 0o600) -> Path:
    """A file of a certificate as its owner would keep it."""
    path = Path(shutil.copy(CERTIFICATES / name, folder))
    path.chmod(mode)
    return path


def test_the_page_is_served_by_tls_and_its_cookie_never_goes_elsewhere(
    observer: Observer, tmp_path: Path
) -> None:
    certificate, key = kept(tmp_path, "localhost.pem"), kept(tmp_path, "localhost.key")
    with Dashboard(observer, token=TOKEN, certificate=certificate, key=key) as dashboard:
        assert dashboard.address.startswith("https://127.0.0.1:")
        knowing = ssl.create_default_context(cafile=certificate)
        with httpx.Client(verify=knowing, timeout=60) as client:
            page = opened(client, dashboard.address)
            assert client.get(page).status_code == 200
            assert all(cookie.secure for cookie in client.cookies.jar)
            own = {"Origin": str(page.copy_with(path="")).rstrip("/")}
            assert client.get(page.join("history"), headers=own).status_code == 200
            plain = {"Origin": own["Origin"].replace("https", "http")}
            assert client.get(page.join("history"), headers=plain).status_code == 403
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(dashboard.address.replace("https", "http"), timeout=60)


@pytest.mark.parametrize(
    ("key", "mode", "words"),
    [
        ("another.key", 0o600, "are no certificate and the key that belongs to it"),
        ("localhost.pem", 0o600, "are no certificate and the key that belongs to it"),
        ("locked.key", 0o600, "the key of the page has a password"),
        ("localhost.key", 0o644, "every user of this machine can read the key"),
    ],
)
def test_a_key_that_does_not_do_is_refused_in_one_line(
    observer: Observer, tmp_path: Path, key: str, mode: int, words: str
) -> None:
    certificate = kept(tmp_path, "localhost.pem")
    (tmp_path / "key").mkdir()
    with pytest.raises(DashboardUnavailable, match=words) as caught:
        Dashboard(observer, certificate=certificate, key=kept(tmp_path / "key", key, mode))
    assert "\n" not in str(caught.value)


def test_a_certificate_without_key_and_a_file_that_is_not_there_are_refused(
    observer: Observer, tmp_path: Path
) -> None:
    certificate = kept(tmp_path, "localhost.pem")
    with pytest.raises(ValueError, match="there is a certificate without key"):
        Dashboard(observer, certificate=certificate)
    with pytest.raises(ValueError, match="there is a key without certificate"):
        Dashboard(observer, key=certificate)
    with pytest.raises(DashboardUnavailable, match="nowhere cannot be read: No such file"):
        Dashboard(observer, certificate=certificate, key=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--dashboard", "--tls-certificate", "a.pem"], "--tls-certificate needs --tls-key"),
        (["--dashboard", "--tls-key", "a.key"], "--tls-key needs --tls-certificate"),
        (["--tls-certificate", "a.pem", "--tls-key", "a.key"], "add --dashboard"),
        (
            ["--dashboard", "--tls-certificate", "/nowhere.pem", "--tls-key", "/nowhere.key"],
            "/nowhere.pem cannot be read: No such file",
        ),
    ],
)
def test_the_command_says_what_is_missing(options: list[str], words: str) -> None:
    ended = penstock_command("run", "tests.cli.pipelines:completes", *options)
    assert ended.code == 2
    assert words in ended.err
    assert ended.err.count("\n") == 1
