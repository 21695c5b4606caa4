"""Keys of v1 whose value a sweep puts in: what cannot be translated there is said, and needs a person."""

import pytest

from servesweep.migration.migrate import migrate_text
from servesweep.migration.remarks import ATTENTION

HEAD = """\
name: x
model: {path: /m, container: c, precision: fp8}
resources: {gpus_per_node: 8, prefill_nodes: 1, prefill_workers: 1, decode_workers: 1, decode_nodes: %s}
backend: {type: sglang}
frontend: {type: %s, dedicated_node: %s}
infra: {etcd_nats_dedicated_node: %s}
sweep: {v: [%s]}
benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: [1]}
"""


@pytest.mark.parametrize(
    ("values", "sweep", "sentence"),
    [
        (("1", '"{v}"', "false", "false"), "sglang, dynamo", "write sglang-router there for sglang"),
        (("1", "dynamo", '"{v}"', "false"), "true, false", "let the sweep choose frontend.placement.node"),
        (("1", "dynamo", "false", '"{v}"'), "true, false", "a sweep cannot choose it; they are on head"),
        (('"{v}"', "dynamo", "false", "false"), "0, 1", "its 0, if it has one, is `colocate` in v2"),
    ],
)
def test_it_is_said_beside_the_key(values: tuple[str, ...], sweep: str, sentence: str) -> None:
    migrated = migrate_text(HEAD % (*values, sweep), "r.yaml")
    assert [r.sentence for r in migrated.remarks if r.kind == ATTENTION and sentence in r.sentence]
    assert sentence in migrated.text
    assert migrate_text(migrated.text, "r.yaml").text == migrated.text


def test_text_of_yaml_1_1_stays_text() -> None:
    text = migrate_text(
        "name: x\nmodel: {path: /m, container: c, precision: fp8}\n"
        "resources: {gpus_per_node: 8, agg_nodes: 1, agg_workers: 1}\n"
        "backend:\n  type: sglang\n  aggregated_environment:\n"
        "    BUILD: 1e5\n    MONTH: 09\n    OCTAL: 0o17\n",
        "r.yaml",
    ).text
    assert 'BUILD: "1e5"' in text
    assert 'MONTH: "09"' in text
    assert 'OCTAL: "0o17"' in text
