"""The connectors hold what they promise against everybody who can reach them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from tests.attacks.attack import Attack
from tests.attacks.crowd import Crowd, Served, served
from tests.attacks.crowded_server import CrowdedServer, Kind, crowded_server
from tests.attacks.network import ATTACKS

CROWD = Crowd(idle=60, never_read=20, hang_up=20)


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_from_the_network_is_held(attack: Callable[[], Attack]) -> None:
    result = attack()
    assert result.held, result


@pytest.mark.parametrize("kind", ["websocket", "server-sent events"])
def test_others_get_all_of_their_elements_in_a_crowd(kind: Kind) -> None:
    with crowded_server(kind) as server:
        empty = server.megabytes
        for each in asyncio.run(others_in_a_crowd(server)):
            assert each.numbers == [*range(50)]
        assert server.megabytes < empty + 60


async def others_in_a_crowd(server: CrowdedServer) -> list[Served]:
    async with AsyncExitStack() as here:
        await CROWD.gather(server.address, here)
        return await asyncio.gather(*(served(server.address, 50, 0.002) for _ in range(5)))
