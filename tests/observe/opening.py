"""What a browser does with the address of a dashboard."""

from __future__ import annotations

import re

import httpx

__all__ = ["opened"]


def opened(client: httpx.Client, address: str) -> httpx.URL:
    """Where the page is, once ``client`` has opened the address and has the cookie."""
    answer = client.get(address).raise_for_status()
    (folder,) = re.findall(r'content="0;url=([^"]+)"', answer.text)
    return httpx.URL(address, query=None).join(folder)
