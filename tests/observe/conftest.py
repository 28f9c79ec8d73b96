from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from penstock.observe import Observer
from penstock.observe.dashboard import Dashboard
from tests.observe.driven import TOKEN, DrivenPipeline

PATIENCE = 60


@pytest.fixture
def pipeline() -> DrivenPipeline:
    return DrivenPipeline()


@pytest.fixture
def observer(pipeline: DrivenPipeline) -> Observer:
    return pipeline.observer()


@pytest.fixture
def dashboard(observer: Observer) -> Iterator[Dashboard]:
    with Dashboard(observer, token=TOKEN) as dashboard:
        yield dashboard


@pytest.fixture
def stranger(dashboard: Dashboard) -> Iterator[httpx.Client]:
    """Somebody who has found the port."""
    with httpx.Client(
        base_url=str(httpx.URL(dashboard.address, query=None)), timeout=PATIENCE
    ) as client:
        yield client


@pytest.fixture
def browser(stranger: httpx.Client) -> httpx.Client:
    """Somebody who has opened the address."""
    stranger.get("/", params={"token": TOKEN}).raise_for_status()
    return stranger
