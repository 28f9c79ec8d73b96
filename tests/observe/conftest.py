from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from penstock.observe import Observer
from penstock.observe.dashboard import Dashboard
from tests.observe.driven import TOKEN, DrivenPipeline
from tests.observe.opening import opened

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
def browser(dashboard: Dashboard) -> Iterator[httpx.Client]:
    """Somebody who has opened the address, and is led on from there."""
    with httpx.Client(timeout=PATIENCE) as client:
        client.base_url = opened(client, dashboard.address)
        yield client


@pytest.fixture
def program(dashboard: Dashboard) -> Iterator[httpx.Client]:
    """Somebody who knows the token, such as Prometheus."""
    with httpx.Client(
        base_url=str(httpx.URL(dashboard.address, query=None)),
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=PATIENCE,
    ) as client:
        yield client
