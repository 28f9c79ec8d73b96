"""An address is shown without what opens it, whatever it looks like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime import shown_address


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("ws://example.org", "ws://example.org"),
        ("wss://example.org:8443/live", "wss://example.org:8443/live"),
        ("ws://me:SECRET@example.org:1/live", "ws://example.org:1/live"),
        ("ws://SECRET@example.org/", "ws://example.org/"),
        ("ws://me:SEC@RET@example.org/", "ws://example.org/"),
        ("ws://me:SEC;RET@example.org/", "ws://example.org/"),
        ("ws://me:SECRET%2F@example.org/", "ws://example.org/"),
        ("http://example.org/?token=SECRET&airport=JFK", "http://example.org/?token=...&airport=..."),
        ("http://example.org/?SECRET", "http://example.org/?..."),
        ("http://example.org/?a=1;token=SECRET", "http://example.org/?a=..."),
        ("http://example.org/?to=https://me:SECRET@host/", "http://..."),
        ("http://example.org:80/?mail=SECRET@host", "http://..."),
        ("http://example.org/live#SECRET", "http://example.org/live"),
        ("http://example.org/live;session=SECRET?x=SECRET", "http://example.org/live;session=...?x=..."),
        ("HTTP://me:SECRET@[::1]:80/live", "HTTP://[::1]:80/live"),
        ("sc://example.org:15002/;token=SECRET;user_id=SECRET", "sc://example.org:15002/;token=...;user_id=..."),
        ("sc://example.org/;SECRET", "sc://example.org/;..."),
        ("spark://one:7077,two:7077", "spark://one:7077,two:7077"),
        ("spark://me:SECRET@one:7077,two:7077", "spark://one:7077,two:7077"),
        ("k8s://https://me:SECRET@example.org:443", "k8s://https://example.org:443"),
        ("jdbc:postgresql://host/db?user=SECRET&password=SECRET", "jdbc:postgresql://host/db?user=...&password=..."),
        ("postgresql://me:SECRET@host:5432/db", "postgresql://host:5432/db"),
        ("s3a://KEY:SECRET@bucket/folder", "s3a://bucket/folder"),
        ("me:SECRET@example.org:1/live", "example.org:1/live"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("local[*]", "local[*]"),
        ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]"),
        ("yarn", "yarn"),
        ("", ""),
        # A password that should have been escaped: nobody can tell where it ends.
        ("ws://me:SEC/RET@example.org/", "ws://..."),
        ("ws://me:SEC?RET@example.org/", "ws://..."),
        ("ws://me:SEC#RET@example.org/", "ws://..."),
        ("ws://me:12/34@example.org/", "ws://..."),
        ("ws://me:12?34@example.org/", "ws://..."),
        ("ws://me:12#34@example.org/", "ws://..."),
        ("ws://me:12,34@example.org/", "ws://example.org/"),
        ("ws://example.org:SECRET", "ws://..."),
        ("http://example.org/\x1b]0;x\x07/?y", r"http://example.org/\x1b]0;...?..."),
    ],
)  # fmt: skip
def test_what_opens_something_is_left_out(address: str, shown: str) -> None:
    assert shown_address(address) == shown
    assert "SECRET" not in shown
    assert "RET" not in shown


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="?#/@,[]:;&="), max_size=8)
SECRETS = st.text("abc@/?#;:&=%,[]", max_size=12).map(lambda text: f"Zq{text}qZ")


@given(SECRETS, SECRETS, WORDS)
def test_no_user_password_or_value_is_ever_shown(user: str, password: str, path: str) -> None:
    shown = shown_address(f"ws://{user}:{password}@example.org:80/{path}?token={user}#{password}")
    assert "Zq" not in shown
    assert "qZ" not in shown


@given(st.text())
def test_any_text_can_be_shown_in_one_line(text: str) -> None:
    assert shown_address(text).isprintable() or not text.isprintable()
    assert len(shown_address(text).splitlines()) <= 1
