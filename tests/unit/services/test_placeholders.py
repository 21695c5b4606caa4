"""What may stand in braces in the texts of a service, and what braces may be beside it."""

from collections.abc import Callable

import pytest

from servesweep.services.instance import Instance
from servesweep.services.placeholders import fill, misspelt


def test_every_placeholder_of_an_instance(instance: Callable[..., Instance]) -> None:
    assert instance("n1", nodes=("n0", "n1")).placeholders() == {
        "node": "rack2", "node_ip": "10.0.0.2", "node_id": "1", "index": "1", "role": "workers",
        "head_node": "rack1", "head_ip": "10.0.0.1", "infra_node": "rack1", "infra_ip": "10.0.0.1",
        "master_port": "8700", "metadata_port": "8701", "gpus_per_node": "4",
        "pool_node": "rack1", "pool_ip": "10.0.0.1",
        "pool_nodes": "rack1,rack2", "pool_ips": "10.0.0.1,10.0.0.2", "pool_node_count": "2",
    }  # fmt: skip


def test_those_of_its_worker_come_to_them(instance: Callable[..., Instance]) -> None:
    found = instance("n1", worker=True).placeholders()
    assert {name: value for name, value in found.items() if name.startswith("worker")} == {
        "worker_role": "decode",
        "worker_index": "3",
        "worker_node_rank": "1",
        "worker_gpus": "2,3",
        "worker_gpu_count": "2",
    }


def test_names_of_steps_and_logs_tell_the_instances_apart(instance: Callable[..., Instance]) -> None:
    alone, one, attached = instance(), instance("n1", nodes=("n0", "n1")), instance("n1", worker=True)
    assert [(each.step, each.log) for each in (alone, one, attached)] == [
        ("thing", "service_thing.out"),
        ("thing_n1", "service_thing_{host}.out"),
        ("thing_decode_3_n1", "service_thing_decode_3_{host}.out"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"node": {"a": [1, {}]}}',
        "{}",
        "${HOME}/${node}",
        "awk '{print}'",
        "{NODE}",
        "find -exec echo {} +",
    ],
)
def test_other_braces_stay_as_they_are(instance: Callable[..., Instance], text: str) -> None:
    known = instance().placeholders()
    assert fill(text, known) == text
    assert misspelt(text, known) is None


def test_known_names_are_filled_between_them(instance: Callable[..., Instance]) -> None:
    known = instance("n1").placeholders()
    assert fill('{"at": "{node_ip}:{master_port}"} ${x}', known) == '{"at": "10.0.0.2:8700"} ${x}'


def test_what_is_nearly_one_is_told_with_the_nearest(instance: Callable[..., Instance]) -> None:
    known = instance().placeholders()
    assert misspelt("--at={node_adress} {nod_ip}", known) is not None
    assert misspelt("{pool_count}", known) == (
        "unknown placeholder {pool_count}; did you mean {pool_node_count}?"
    )
    assert misspelt("{worker_gpus}", known) == (
        "{worker_gpus} tells of a worker: it needs placement.per: worker"
    )
