import pytest

from servesweep.topology.layout_notes import layout_notes
from servesweep.topology.packing import (
    DoesNotFitError,
    PackingError,
    colocated_nodes,
    default_gpus,
    pack,
    vllm_colocates,
)
from servesweep.topology.shapes import RoleShape, WorkerPlace, reserved_nodes

NODES = ("n0", "n1", "n2", "n3")


def layout(workers: tuple[WorkerPlace, ...]) -> list[str]:
    """A worker as text: `decode0 n1:4-5`."""
    return [
        f"{w.mode}{w.index} " + " ".join(f"{p.node}:{p.gpus[0]}-{p.gpus[-1]}" for p in w.places)
        for w in workers
    ]


def test_small_workers_share_a_node_and_decode_begins_on_a_fresh_one() -> None:
    roles = [RoleShape("prefill", 1, 1, 2), RoleShape("decode", 1, 2, 4)]
    assert layout(pack(roles, NODES[:2], 8)) == ["prefill0 n0:0-1", "decode0 n1:0-3", "decode1 n1:4-7"]


def test_the_seed_s_colocated_recipe() -> None:
    roles = [RoleShape("prefill", 2, 6, 2), RoleShape("decode", "colocate", 2, 2)]
    assert layout(pack(roles, NODES[:2], 8)) == [
        "prefill0 n0:0-1",
        "prefill1 n0:2-3",
        "prefill2 n0:4-5",
        "prefill3 n0:6-7",
        "prefill4 n1:0-1",
        "prefill5 n1:2-3",
        "decode0 n1:4-5",
        "decode1 n1:6-7",
    ]


def test_colocated_decode_stays_on_prefill_s_node_where_there_are_more() -> None:
    roles = [RoleShape("prefill", 2, 1, 4), RoleShape("decode", "colocate", 1, 4)]
    assert layout(pack(roles, NODES[:2], 8)) == ["prefill0 n0:0-3", "decode0 n0:4-7"]


def test_a_colocated_layout_that_does_not_fit() -> None:
    roles = [RoleShape("prefill", 1, 2, 3), RoleShape("decode", "colocate", 1, 4)]
    with pytest.raises(DoesNotFitError) as caught:
        pack(roles, NODES[:1], 8)
    assert str(caught.value) == (
        "2 prefill x 3 GPUs and 1 decode x 4 GPUs do not fit on 1 node of 8 GPUs:"
        " decode worker 0 finds no place, 2 nodes are needed"
        " (colocated decode workers get the GPUs that prefill leaves free on a node)"
    )


def test_large_workers_take_whole_nodes() -> None:
    assert layout(pack([RoleShape("agg", 4, 2, 6)], NODES, 4)) == ["agg0 n0:0-3 n1:0-3", "agg1 n2:0-3 n3:0-3"]


def test_a_whole_node_worker_never_begins_on_a_partly_used_node() -> None:
    roles = [RoleShape("prefill", 1, 1, 2), RoleShape("decode", "colocate", 1, 8)]
    assert layout(pack(roles, NODES[:2], 8)) == ["prefill0 n0:0-1", "decode0 n1:0-7"]
    with pytest.raises(DoesNotFitError, match="2 nodes are needed"):
        pack(roles, NODES[:1], 8)


def test_exact_packing_shares_the_node_in_the_middle_fullest_node_first() -> None:
    workers = pack([RoleShape("agg", 3, 2, 6)], NODES[:3], 4, exact=True)
    assert layout(workers) == ["agg0 n0:0-3 n1:0-1", "agg1 n2:0-3 n1:2-3"]
    assert (workers[1].leader, workers[1].nodes, workers[1].gpu_count) == ("n2", ("n2", "n1"), 6)


def test_exact_packing_never_splits_a_worker_that_fits_on_a_node() -> None:
    assert layout(pack([RoleShape("agg", 2, 2, 3)], NODES[:2], 4, exact=True)) == [
        "agg0 n0:0-2",
        "agg1 n1:0-2",
    ]


def test_exact_and_spread_goes_on_after_a_partial_tail() -> None:
    workers = pack([RoleShape("agg", 4, 2, 6)], NODES, 4, exact=True, spread=True)
    assert layout(workers) == ["agg0 n0:0-3 n1:0-1", "agg1 n2:0-3 n3:0-1"]


def test_spread_workers_have_a_node_each() -> None:
    assert layout(pack([RoleShape("agg", 2, 2, 2)], NODES[:2], 8, spread=True)) == [
        "agg0 n0:0-1",
        "agg1 n1:0-1",
    ]


def test_the_order_of_roles_is_fixed() -> None:
    roles = [RoleShape("decode", 1, 1, 8), RoleShape("prefill", 1, 1, 8)]
    assert layout(pack(roles, NODES[:2], 8)) == ["prefill0 n0:0-7", "decode0 n1:0-7"]


def test_what_does_not_fit_says_where_and_how_many_nodes_are_needed() -> None:
    roles = [RoleShape("prefill", 1, 2, 8), RoleShape("decode", 1, 2, 16)]
    with pytest.raises(DoesNotFitError) as caught:
        pack(roles, NODES, 8)
    error = caught.value
    assert (error.mode, error.index, error.nodes_given, error.nodes_needed) == ("decode", 1, 4, 6)
    assert str(error) == (
        "2 prefill x 8 GPUs and 2 decode x 16 GPUs do not fit on 4 nodes of 8 GPUs:"
        " decode worker 1 finds no place, 6 nodes are needed"
    )
    assert len(pack(roles, [f"n{k}" for k in range(6)], 8)) == 4


@pytest.mark.parametrize("shape", [RoleShape("agg", 1, 1, 0), RoleShape("agg", 1, 0, 1)])
def test_empty_workers_are_refused(shape: RoleShape) -> None:
    with pytest.raises(PackingError, match="each number is at least 1"):
        pack([shape], NODES, 8)


def test_default_gpus() -> None:
    assert default_gpus("agg", 2, 8, 4) == 4
    assert default_gpus("agg", 2, 8, 1) == 16


def test_default_gpus_never_loses_any() -> None:
    with pytest.raises(PackingError) as caught:
        default_gpus("decode", 1, 8, 3)
    assert (
        str(caught.value) == "decode: 8 GPUs (1 x 8) do not divide among 3 workers, 2 would be idle; set gpus"
    )
    with pytest.raises(PackingError) as caught:
        default_gpus("prefill", 1, 4, 6)
    assert str(caught.value) == (
        "prefill: 6 workers share 4 GPUs (1 x 4), so 2 get none; use fewer workers or more nodes"
    )


@pytest.mark.parametrize(
    ("flags", "gpus", "expected"),
    [
        ({}, 2, False),
        ({"allow": True}, 2, True),
        ({"allow": True}, 8, False),
        ({"allow": True, "across_nodes": True}, 8, True),
        ({"across_nodes": True}, 2, False),
    ],
)
def test_vllm_colocation(flags: dict[str, bool], gpus: int, expected: bool) -> None:
    roles = [RoleShape("prefill", 1, 1, gpus), RoleShape("decode", 1, 1, gpus)]
    assert vllm_colocates(roles, 8, **flags) is expected
    assert not vllm_colocates(roles[:1], 8, allow=True, across_nodes=True)


def test_nodes_of_roles() -> None:
    roles = [RoleShape("prefill", 2, 3, 4), RoleShape("decode", "colocate", 1, 6)]
    assert reserved_nodes(roles) == 2
    assert colocated_nodes(roles, 8) == 3


def test_notes_about_idle_nodes_and_roles_beyond_their_own() -> None:
    roles = [RoleShape("prefill", 1, 2, 8), RoleShape("decode", 3, 1, 8)]
    assert layout_notes(roles, pack(roles, NODES, 8), NODES) == (
        "prefill reserves 1 node, but its workers take 2",
        "no worker runs on n3",
    )
    exact = [RoleShape("prefill", 1, 1, 8), RoleShape("decode", 1, 2, 4)]
    assert layout_notes(exact, pack(exact, NODES[:2], 8), NODES[:2]) == ()


@pytest.mark.parametrize(
    ("spread", "prefill", "decode"),
    [
        (False, (2, 6), [("n0", (6, 7)), ("n1", (6, 7))]),
        (True, (2, 4), [("n0", (4, 5)), ("n1", (4, 5))]),
    ],
)
def test_colocated_decode_takes_what_prefill_leaves_free_on_any_of_its_nodes(
    spread: bool, prefill: tuple[int, int], decode: list[tuple[str, tuple[int, ...]]]
) -> None:
    workers, gpus = prefill
    roles = [RoleShape("prefill", 2, workers, gpus), RoleShape("decode", "colocate", 2, 2)]
    placed = pack(roles, ["n0", "n1"], 8, spread=spread)
    assert [(p.node, p.gpus) for w in placed if w.mode == "decode" for p in w.places] == decode
