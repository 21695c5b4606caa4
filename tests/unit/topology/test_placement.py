import itertools

import pytest

from servesweep.topology.packing import pack
from servesweep.topology.placement import PlacementError, carve, seat
from servesweep.topology.shapes import RoleShape, WorkerPlace


def disaggregated(nodes: tuple[str, ...]) -> tuple[WorkerPlace, ...]:
    """One prefill node, then a decode worker on each of two nodes."""
    return pack([RoleShape("prefill", 1, 1, 8), RoleShape("decode", 2, 2, 8)], nodes, 8)


def test_by_default_everything_stands_on_the_first_node() -> None:
    carving = carve(3)
    seats = seat(carving, disaggregated(carving.roles))
    assert carving.nodes == carving.roles == ("n0", "n1", "n2")
    assert {seats.head, seats.infra, seats.frontend, seats.client, carving.supervisor} == {"n0"}


# discovery, frontend, benchmark -> total, roles, (head, infra, frontend, client)
DEDICATED = {
    ("head", "head", "head"): (3, "n0 n1 n2", "n0 n0 n0 n0"),
    ("head", "head", "last_decode"): (3, "n0 n1 n2", "n0 n0 n0 n2"),
    ("head", "head", "dedicated"): (4, "n0 n1 n2", "n0 n0 n0 n3"),
    ("head", "first_decode", "head"): (3, "n0 n1 n2", "n0 n0 n1 n0"),
    ("head", "first_decode", "last_decode"): (3, "n0 n1 n2", "n0 n0 n1 n2"),
    ("head", "first_decode", "dedicated"): (4, "n0 n1 n2", "n0 n0 n1 n3"),
    ("head", "dedicated", "head"): (4, "n1 n2 n3", "n1 n1 n0 n1"),
    ("head", "dedicated", "last_decode"): (4, "n1 n2 n3", "n1 n1 n0 n3"),
    ("head", "dedicated", "dedicated"): (5, "n1 n2 n3", "n1 n1 n0 n4"),
    ("dedicated", "head", "head"): (4, "n1 n2 n3", "n1 n0 n1 n1"),
    ("dedicated", "head", "last_decode"): (4, "n1 n2 n3", "n1 n0 n1 n3"),
    ("dedicated", "head", "dedicated"): (5, "n1 n2 n3", "n1 n0 n1 n4"),
    ("dedicated", "first_decode", "head"): (4, "n1 n2 n3", "n1 n0 n2 n1"),
    ("dedicated", "first_decode", "last_decode"): (4, "n1 n2 n3", "n1 n0 n2 n3"),
    ("dedicated", "first_decode", "dedicated"): (5, "n1 n2 n3", "n1 n0 n2 n4"),
    ("dedicated", "dedicated", "head"): (5, "n2 n3 n4", "n2 n0 n1 n2"),
    ("dedicated", "dedicated", "last_decode"): (5, "n2 n3 n4", "n2 n0 n1 n4"),
    ("dedicated", "dedicated", "dedicated"): (6, "n2 n3 n4", "n2 n0 n1 n5"),
}


def test_the_table_below_has_every_combination() -> None:
    spots = (
        ("head", "dedicated"),
        ("head", "first_decode", "dedicated"),
        ("head", "last_decode", "dedicated"),
    )
    assert set(DEDICATED) == set(itertools.product(*spots))


@pytest.mark.parametrize(("spots", "expected"), DEDICATED.items())
def test_every_combination_of_spots(spots, expected) -> None:  # type: ignore[no-untyped-def]
    discovery, frontend, benchmark = spots
    total, roles, seats = expected
    carving = carve(3, discovery=discovery, frontend=frontend, benchmark=benchmark)
    assert carving.nodes == tuple(f"n{number}" for number in range(total))
    assert carving.roles == tuple(roles.split())
    got = seat(carving, disaggregated(carving.roles), frontend=frontend, benchmark=benchmark)
    assert f"{got.head} {got.infra} {got.frontend} {got.client}" == seats


def test_nothing_else_runs_on_a_dedicated_node() -> None:
    carving = carve(2, {"ray": 1}, discovery="dedicated", frontend="dedicated", benchmark="dedicated")
    dedicated = [carving.infra, carving.frontend, carving.client]
    shared = [*carving.roles, *carving.pools["ray"], carving.head]
    assert dedicated == ["n0", "n1", "n5"]
    assert not set(dedicated) & set(shared)


def test_pools_follow_the_roles_in_order_of_declaration() -> None:
    carving = carve(2, {"store": 2, "cache": 1}, frontend="dedicated", benchmark="dedicated")
    assert carving.roles == ("n1", "n2")
    assert carving.pools == {"store": ("n3", "n4"), "cache": ("n5",)}
    assert (carving.frontend, carving.client) == ("n0", "n6")


def test_without_roles_the_first_pool_has_the_head() -> None:
    carving = carve(0, {"ray": 2, "other": 1}, discovery="dedicated")
    assert carving.roles == ()
    assert (carving.infra, carving.head) == ("n0", "n1")
    assert carving.pools["ray"] == ("n1", "n2")


def test_without_roles_and_pools_one_node_is_the_head() -> None:
    carving = carve(0, benchmark="dedicated")
    assert (carving.nodes, carving.roles, carving.head, carving.client) == (("n0", "n1"), (), "n0", "n1")


def test_the_last_decode_node_is_the_last_of_a_worker_that_spans_nodes() -> None:
    carving = carve(3)
    workers = pack([RoleShape("prefill", 1, 1, 8), RoleShape("decode", 2, 1, 16)], carving.roles, 8)
    seats = seat(carving, workers, frontend="first_decode", benchmark="last_decode")
    assert (seats.frontend, seats.client) == ("n1", "n2")


def test_decode_spots_need_a_decode_role() -> None:
    carving = carve(1)
    workers = pack([RoleShape("agg", 1, 1, 8)], carving.roles, 8)
    with pytest.raises(PlacementError) as caught:
        seat(carving, workers, frontend="first_decode")
    assert (
        str(caught.value)
        == "frontend.placement.node: first_decode needs a decode role, and this recipe has none"
    )
    with pytest.raises(PlacementError, match=r"benchmark\.placement\.node: last_decode"):
        seat(carving, workers, benchmark="last_decode")
