"""Keys that v2 does not have become comments, wherever they stand, each with a note and counted."""

from __future__ import annotations

from textwrap import dedent

import pytest

from servesweep.engines import ENGINES
from servesweep.migration import unknown
from servesweep.migration.migrate import migrate_text
from servesweep.migration.remarks import ATTENTION
from servesweep.recipe.source import parse
from servesweep.recipe.variants import expand

RECIPE = """\
name: x
# above
weird: 1
more:
  # inside
  a: 1

  b: [1, 2]
model: {path: a, precision: fp8, foo: 1}
resources:
  foo: 4
  gpus_per_node: 8
  agg_nodes: 1
  agg_workers: 1
backend:
  type: vllm
  bar: 3  # why
  connector: nixl
frontend:
  type: dynamo
  placement:
    nod: head
"""


def test_unknown_keys_are_commented_out_whole_and_the_rest_stays() -> None:
    migrated = migrate_text(RECIPE, "r.yaml")
    assert migrated.text.startswith(
        dedent("""\
        schema: 2
        name: x
        # above
        # migrate: weird is commented out: v2 has no such key
        # weird: 1
        # migrate: more is commented out: v2 has no such key
        # more:
        #   # inside
        #   a: 1
        #
        #   b: [1, 2]
        model:
          path: a
          precision: fp8
          # migrate: model.foo is commented out: v2 has no such key
          # foo: 1
        resources:
          # migrate: resources.foo is commented out: v2 has no such key
          # foo: 4
          gpus_per_node: 8
        engine:
          type: vllm
          # migrate: engine.bar is commented out: v2 has no such key
          # bar: 3  # why
          connector: nixl
        """)
    )
    told = [(one.sentence.partition(" ")[0], one.origin) for one in migrated.remarks if one.kind == ATTENTION]
    assert told == [
        ("weird", 3), ("more", 4), ("model.foo", 9), ("resources.foo", 11), ("engine.bar", 17),
        ("frontend.placement.nod", 22),
    ]  # fmt: skip


def test_every_note_has_the_line_of_its_comment() -> None:
    migrated = migrate_text(RECIPE, "r.yaml")
    lines = migrated.text.splitlines()
    for remark in migrated.remarks:
        assert remark.line is not None
        assert lines[remark.line - 1].strip() == f"# migrate: {remark.sentence}"


def test_a_second_migration_changes_nothing() -> None:
    text = migrate_text(RECIPE, "r.yaml").text
    assert migrate_text(text, "r.yaml").text == text
    (variant,) = expand(parse(text, "r.yaml"))
    assert {"weird", "more"}.isdisjoint(variant.data)


@pytest.mark.parametrize("block", ["override_a", "zip_override_a"])
def test_variants_lose_their_unknown_keys_too(block: str) -> None:
    values = ("[1, 2]", "[y, z]") if block.startswith("zip") else ("1", "y")
    base = "".join(f"  {line}\n" for line in RECIPE.splitlines()[8:])
    text = f"base:\n  name: x\n{base}{block}:\n  name: {values[1]}\n  odd: {values[0]}\n"
    migrated = migrate_text(text, "r.yaml")
    assert f"  # migrate: odd is commented out: v2 has no such key\n  # odd: {values[0]}\n" in migrated.text
    assert [v.data["name"] for v in expand(parse(migrated.text, "r.yaml"))] == values[1].strip("[]").split(
        ", "
    )
    assert migrate_text(migrated.text, "r.yaml").text == migrated.text


def test_the_options_of_the_engines_are_those_that_v2_reads() -> None:
    options = {key for name in unknown.ENGINES for key in ENGINES[name].Options.model_fields}
    assert options | {"type"} == unknown.ENGINE_KEYS


@pytest.mark.parametrize(
    "fault",
    [
        "backend: {type: sglang, mooncake_kv_store: {env: x}}\n",
        "backend: {type: sglang}\ntelemetry: {default_frequency: .inf}\n",
        "backend: {type: sglang}\nobservability: {tachometer: {default_frequency: .nan}}\n",
    ],
)
def test_values_of_another_form_end_in_no_traceback(fault: str) -> None:
    head = "name: x\nmodel: {path: m}\nresources: {agg_nodes: 1, agg_workers: 1, gpus_per_node: 8}\n"
    assert "schema: 2" in migrate_text(head + fault, "r.yaml").text
