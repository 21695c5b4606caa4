"""What nobody rewrites stays: comments, order, anchors, quotes, spacing, line ends."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from servesweep.migration.migrate import migrate_text
from servesweep.migration.reading import read
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.source import parse

Migrate = Callable[[str], str]

BEFORE = """
# A recipe for somebody.

# The name
name: 'x'

resources:   # the machine
  gpu_type: "h100"
  gpus_per_node: 8

  # two nodes
  prefill_nodes:   2   # of eight
  prefill_workers: 2
  # one node
  decode_nodes:    1
  decode_workers:  1
  # nothing more

backend:
  type: sglang

  # every process
  prefill_environment: &env
    A: "1"   # text

  decode_environment: *env

  sglang_config:
    prefill: &args
      tp-size:    8
      # memory
      mem-fraction: [ 0.8,  0.9 ]

      # host: 1.2.3.4
    decode:
      <<: *args
      text: |
        # no comment
          kept

frontend:
  type: "sglang"  # router
"""

AFTER = """
# A recipe for somebody.

schema: 2
# The name
name: 'x'

resources:   # the machine
  gpu_type: "h100"
  gpus_per_node: 8
  # nothing more

engine: sglang
roles:
  prefill:
    # two nodes
    nodes:   2   # of eight
    workers: 2
    # every process
    env: &env
      A: "1"   # text
    args: &args
      tp-size:    8
      # memory
      mem-fraction: [ 0.8,  0.9 ]

      # host: 1.2.3.4
  decode:
    # one node
    nodes:    1
    workers:  1
    env: *env
    args:
      <<: *args
      text: |
        # no comment
          kept

frontend:
  type: "sglang-router"  # router
"""


def test_a_whole_recipe(migrate: Migrate) -> None:
    assert migrate(BEFORE) == AFTER.lstrip("\n")


def test_windows_line_ends_stay() -> None:
    text = migrate_text(BEFORE.replace("\n", "\r\n"), "r.yaml").text
    assert text.count("\r\n") == text.count("\n") > 30
    assert text.replace("\r\n", "\n").lstrip("\n") == AFTER.lstrip("\n")


def test_flow_mappings_are_written_out_where_keys_move(migrate: Migrate) -> None:
    before = """
        resources: {gpu_type: "h100", gpus_per_node: 8, agg_nodes: 1, agg_workers: 1}  # small
        backend: {type: 'vllm', aggregated_environment: {A: "1", B: '2'}}
        dynamo: {install: false}
    """
    after = """
        schema: 2
        resources: # small
          gpu_type: "h100"
          gpus_per_node: 8
        engine: 'vllm'
        roles:
          agg:
            nodes: 1
            workers: 1
            env: {A: "1", B: '2'}
        dynamo:
          install: false
    """
    assert migrate(before) == dedent(after).lstrip("\n")


def test_an_alias_with_flags_to_remove_is_written_out(migrate: Migrate) -> None:
    text = migrate("""
        resources: {prefill_nodes: 1, prefill_workers: 1, decode_nodes: 1, decode_workers: 1}
        backend:
          sglang_config:
            prefill: &both
              host: 0.0.0.0
              tp-size: 8
            decode: *both
        dynamo: {install: false}
    """)
    roles = parse(text, "r.yaml").data["roles"]
    assert roles["prefill"]["args"] == roles["decode"]["args"] == {"tp-size": 8}
    assert text.count("# migrate: host: 0.0.0.0 is left out") == 2


def test_merge_keys_among_moving_keys_are_written_out(migrate: Migrate) -> None:
    text = migrate("""
        base:
          resources: &node
            gpus_per_node: 8
            agg_nodes: 1
            agg_workers: 1
          dynamo: {install: false}
        override_two:
          resources:
            <<: *node
            agg_workers: 2
    """)
    data = parse(text, "r.yaml").data
    assert data["override_two"] == {
        "resources": {"gpus_per_node": 8},
        "roles": {"agg": {"nodes": 1, "workers": 2}},
    }
    assert data["base"]["roles"] == {"agg": {"nodes": 1, "workers": 1}}


def test_an_alias_whose_anchor_would_come_after_it_is_written_out(migrate: Migrate) -> None:
    text = migrate("""
        resources:
          gpus_per_node: &all 8
          prefill_nodes: 1
          prefill_workers: 1
          decode_nodes: 1
          decode_workers: 1
          gpus_per_decode: *all
        backend:
          decode_environment: &env  # shared
            A: "1"
          prefill_environment: *env  # too
        dynamo: {install: false}
    """)
    assert "    env: {A: '1'}  # too\n" in text
    assert '    env: &env  # shared\n      A: "1"\n' in text
    assert parse(text, "r.yaml").data["roles"]["decode"]["gpus"] == 8


@pytest.mark.parametrize(
    "comment",
    ["# why", '# it\'s "so"', "#why # twice", ""],
)
@pytest.mark.parametrize("place", ["head", "'head'", '"head"'])
def test_comments_survive_where_a_value_is_rewritten(migrate: Migrate, place: str, comment: str) -> None:
    text = migrate(f"""
        resources: {{agg_workers: 1}}
        frontend:
          orchestrator_placement: {place}   {comment}
          dedicated_node: true
    """)
    assert f"  placement: {comment}".rstrip() + "\n    node: dedicated\n" in text


def test_a_hash_inside_quotes_is_no_comment(migrate: Migrate) -> None:
    text = migrate("""
        resources: {agg_workers: 1}
        benchmark:
          type: custom
          command: run
          client_placement: 'x # y'
    """)
    assert "node: 'x # y'\n" in text


def test_characters_beyond_ascii_do_not_shift_columns(migrate: Migrate) -> None:
    text = migrate("""
        name: "größe ✓"  # ✓
        resources: {gpu_type: "ü✓", agg_workers: 1}  # ✓ yes
        backend:
          aggregated_environment: {"Ä": "1", B: on}
    """)
    data = parse(text, "r.yaml").data
    assert data["name"] == "größe ✓"
    assert data["resources"] == {"gpu_type": "ü✓", "gpus_per_node": 4}
    assert data["roles"]["agg"]["env"] == {"Ä": "1", "B": True}


@pytest.mark.parametrize(
    ("v1", "v2"),
    [
        ("on", True), ("No", False), ("012", 10), ("1_000", 1000), ("1:30", 90), ("12:00", 720),
        ("'on'", "on"), ('"012"', "012"), ("true", True), ("0", 0), ("1e-5", "1e-5"), ("0.10", 0.1),
        ("~", None),
    ],
)  # fmt: skip
def test_values_keep_what_yaml_1_1_read(migrate: Migrate, v1: str, v2: object) -> None:
    text = migrate(f"""
        resources: {{agg_workers: 1}}
        backend:
          sglang_config:
            aggregated:
              x: {v1}  # why
    """)
    value = parse(text, "r.yaml").data["roles"]["agg"]["args"]["x"]
    assert isinstance(value, type(v2))
    assert (isinstance(value, bool), value) == (isinstance(v2, bool), v2)
    assert "# why" in text


def test_time_limits_keep_their_colons(migrate: Migrate) -> None:
    assert "time_limit: 12:00:00" in migrate("resources: {agg_workers: 1}\nslurm:\n  time_limit: 12:00:00\n")


def test_schema_2_comes_back_byte_by_byte() -> None:
    text = "schema:   2\r\nroles: {agg: {nodes: 1}}\n\n\n  # odd\nmodel: 3"
    assert migrate_text(text, "r.yaml") == migrate_text(text, "r.yaml")
    assert migrate_text(text, "r.yaml").text == text
    assert migrate_text(text, "r.yaml").notes == ()


def test_schema_1_is_v1(migrate: Migrate) -> None:
    text = migrate("schema: 1  # old\nresources: {agg_workers: 1}\n")
    assert text.startswith("schema: 2 # old\nresources:\n")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "this is no recipe: the file is not a mapping"),
        ("- a\n- b\n", "this is no recipe: the file is not a mapping"),
        (
            "services: {x: {image: y}}\n",
            "this is no recipe: it has none of model, resources, backend, benchmark",
        ),
        ("a: [\n", "not valid YAML"),
        ("model: {path: a}\nmodel: {path: b}\n", "r.yaml:2: model: this key stands here twice"),
        ("schema: 3\nmodel: {}\n", "schema 3 is unknown"),
        ("{model: a}\n", "no recipe in block style"),
        ("model: m\nroles: {agg: {nodes: 1}}\n", "add `schema: 2`"),
    ],
)
def test_what_is_no_recipe_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as caught:
        migrate_text(text, "r.yaml")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_reading_and_writing_is_the_identity() -> None:
    text = BEFORE.lstrip("\n")
    block = read(text, "r.yaml")
    assert block.text() == text
    keys = {
        n: line for n, line in enumerate(text.split("\n"), 1) if not line.lstrip().startswith("#") and line
    }
    assert {n: block.origins()[n - 1] for n in keys} == {n: n for n in keys}
