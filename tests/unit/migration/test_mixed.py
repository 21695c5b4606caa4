"""Files that say `schema: 2` and hold keys of v1: what `servesweep migrate` writes, and how they are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from servesweep.migration.migrate import migrate_text
from servesweep.migration.mixed import in_v2_words
from servesweep.migration.v1_keys import speaks_v1, v1_keys
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.source import parse

Migrate = Callable[[str], str]
HEAD = "schema: 2\nname: x\nmodel: {path: m}\n"


def lines(text: str) -> str:
    return dedent(text).lstrip("\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            """
            backend:
              type: sglang
            roles:
              decode:
                nodes: 0  # beside prefill
                gpus: 1
              prefill: {nodes: 1, gpus: 1}
            """,
            """
            engine: sglang
            roles:
              decode:
                nodes: colocate # beside prefill
                gpus: 1
              prefill: {nodes: 1, gpus: 1}
            """,
            id="roles of v2 below a backend",
        ),
        pytest.param(
            """
            resources:
              gpus_per_node: 8
              # two of them
              agg_workers: 2
              agg_nodes: 1
            backend:
              type: vllm
              connector: nixl
              aggregated_environment: {A: "1"}
              vllm_config:
                aggregated: {tensor-parallel-size: 4}
            """,
            """
            resources:
              gpus_per_node: 8
            engine:
              type: vllm
              connector: nixl
            roles:
              agg:
                nodes: 1
                # two of them
                workers: 2
                env: {A: "1"}
                args: {tensor-parallel-size: 4}
            """,
            id="a body of v1",
        ),
        pytest.param(
            """
            backend:
              type: vllm
              prefill_environment:
                A: "1"
                B: "2"
            roles:
              prefill:
                nodes: 1
                env:
                  B: "3"
              decode: {nodes: 1}
            """,
            """
            engine: vllm
            roles:
              prefill:
                nodes: 1
                env:
                  # migrate: B: "2" is left out: roles.prefill.env says otherwise
                  B: "3"
                  A: "1"
              decode: {nodes: 1}
            """,
            id="environments of both are joined, and v2's wins",
        ),
        pytest.param(
            """
            backend: {type: sglang}
            resources: {agg_nodes: 2, gpus_per_node: 8}
            roles:
              agg: {nodes: 1}
            """,
            """
            engine: sglang
            resources:
              # migrate: agg_nodes: 2 is left out: roles.agg.nodes says otherwise
              gpus_per_node: 8
            roles:
              agg:
                nodes: 1
            """,
            id="what contradicts is left out with its value",
        ),
        pytest.param(
            """
            engine: sglang
            roles: {agg: {nodes: 1}}
            frontend:
              type: sglang  # direct
              dedicated_node: true
            dynamo:
              version: "1.4"
            infra: {nats_max_payload_mb: 8}
            """,
            """
            engine: sglang
            roles: {agg: {nodes: 1}}
            frontend:
              type: sglang  # direct
              placement:
                node: dedicated
            dynamo:
              source:
                pypi: "1.4"
            # migrate: infra.nats_max_payload_mb: 8 is left out: the frontend sglang uses no etcd and no nats
            """,
            id="beside an engine frontend sglang is v2's direct one",
        ),
        pytest.param(
            """
            engine: sglang
            roles: {agg: {nodes: 1}}
            services:
              - name: etcd
                type: etcd
                external: http://e:2379
            infra: {etcd_nats_dedicated_node: true}
            """,
            """
            engine: sglang
            roles: {agg: {nodes: 1}}
            # migrate: the service etcd stays as it is, whatever infra said
            services:
              - name: etcd
                type: etcd
                external: http://e:2379
              - name: nats
                type: nats
                placement:
                  node: dedicated
            """,
            id="services that are there stay",
        ),
        pytest.param(
            """
            engine: sglang
            roles: {agg: {nodes: 1}}
            telemetry: {enabled: true, default_frequency: 2}
            benchmark:
              client_placement: last_decode
              placement: {node: head}
              export_node_metrics: true
            """,
            """
            engine: sglang
            roles: {agg: {nodes: 1}}
            telemetry:
              enabled: true
              collect_interval_ms: 2000
            benchmark:
              # migrate: benchmark.client_placement: last_decode is left out: placement says where it stands
              placement: {node: head}
              # migrate: benchmark.export_node_metrics: true is left out: v2 has no place for it
            """,
            id="sections",
        ),
        pytest.param(
            """
            engine: vllm
            roles: {agg: {nodes: 1}}
            backend: {connector: nixl}
            """,
            """
            engine: vllm
            roles: {agg: {nodes: 1}}
            # migrate: backend stays: an engine is named too, and both cannot be meant; keep one
            backend: {connector: nixl}
            """,
            id="what cannot be folded stays, with a note",
        ),
    ],
)  # fmt: skip
def test_keys_of_v1_are_folded(migrate: Migrate, before: str, after: str) -> None:
    assert migrate(HEAD + lines(before)) == HEAD + lines(after)


def test_the_router_of_v1_is_told(migrate: Migrate) -> None:
    text = migrate(HEAD + "frontend:\n  type: sglang\nbackend: {type: sglang}\nroles: {agg: {nodes: 1}}\n")
    assert (
        "frontend:\n  # migrate: sglang is the router here, as in v1, whose keys this file has; in v2 "
        in text
    )
    assert "\n  type: sglang-router\n" in text


def test_no_default_of_v1_is_added(migrate: Migrate) -> None:
    """No Dynamo 0.8.0, no 4 GPUs a node, no `publish_metrics: false`: what is not said is v2's default."""
    body = "backend:\n  type: trtllm\nroles: {agg: {nodes: 1}}\nobservability:\n  enabled: true\n"
    expected = "engine: trtllm\nroles: {agg: {nodes: 1}}\nobservability:\n  enabled: true\n"
    assert migrate(HEAD + body) == HEAD + expected


def test_bases_and_variants(migrate: Migrate) -> None:
    text = migrate(
        lines("""
        schema: 2
        base:
          name: x
          model: {path: m}
          resources:
            gpus_per_node: 8
            agg_nodes: 1
            agg_workers: 2
          backend:
            type: vllm
        # bigger
        override_one:
          resources:
            agg_workers: 1
          backend:
            vllm_config:
              aggregated:
                tensor-parallel-size: 8
        zip_override_two:
          resources:
            agg_workers: [2, 4]
        """)
    )
    assert text == lines("""
        schema: 2
        base:
          name: x
          model: {path: m}
          resources:
            gpus_per_node: 8
          engine: vllm
          roles:
            agg:
              nodes: 1
              workers: 2
        # bigger
        override_one:
          roles:
            agg:
              workers: 1
              args:
                tensor-parallel-size: 8
        zip_override_two:
          roles:
            agg:
              workers: [2, 4]
        """)


CLEAN = HEAD + "engine: sglang\nroles: {agg: {nodes: 1}}\nfrontend: {type: sglang}\nenvironment: {X: on}\n"


@pytest.mark.parametrize(
    "text", [CLEAN, CLEAN.replace("\n", "\r\n"), CLEAN.rstrip(), "base:\n  " + "schema: 2\n"]
)
def test_a_clean_file_stays_byte_for_byte(text: str) -> None:
    migrated = migrate_text(text, "r.yaml")
    assert (migrated.text, migrated.notes) == (text, ())
    assert migrated.lines == tuple(range(1, text.count("\n") + 2))


def test_the_keys_are_listed_once() -> None:
    base = {"backend": {}, "resources": {"agg_nodes": 1}, "roles": {"decode": {"nodes": [1, 0]}}}
    data = {"base": base, "override_x": {"backend": {}}, "lock": {"backend": {}}}
    assert v1_keys(data) == ("backend", "resources.agg_nodes", "roles.decode.nodes: 0")
    assert speaks_v1(data)
    assert not speaks_v1({**data, "override_y": {"engine": "vllm"}})
    assert v1_keys({"roles": {"decode": {"nodes": False}}, "frontend": {"type": "sglang"}}) == ()


MIXED = HEAD + lines("""
    resources:
      gpus_per_node: 8
      agg_nodes: 1
      agg_wokers: 2
    backend:
      type: sglang
      sglang_config:
        # one
        aggregated:
          context-length: 4096
    benchmark: {typ: manual}
    """)


def test_a_mixed_file_is_read_as_migrated_with_the_lines_it_has() -> None:
    document, notes = in_v2_words(parse(MIXED, "r.yaml"))
    assert document.data["roles"] == {"agg": {"nodes": 1, "args": {"context-length": 4096}}}
    (note,) = notes
    assert note == (
        "written with keys of v1 (backend and resources.agg_nodes); planned as `servesweep migrate` writes it"
    )
    spots = {
        ("resources", "agg_wokers"): "agg_wokers: 2",
        ("roles", "agg", "nodes"): "agg_nodes: 1",
        ("roles", "agg", "args"): "aggregated:",
        ("roles", "agg", "args", "context-length"): "context-length: 4096",
        ("engine",): "backend:",
        ("benchmark", "typ"): "benchmark: {typ: manual}",
    }
    written = MIXED.split("\n")
    for path, line in spots.items():
        assert written[document.line(path) - 1].strip() == line, path


@pytest.mark.parametrize("schema", ["", "schema: 1\n"])
def test_a_recipe_of_v1_is_told_as_that_and_nothing_else(schema: str) -> None:
    with pytest.raises(RecipeError) as caught:
        in_v2_words(parse(f"{schema}name: x\nbackend: {{type: sglang}}\n", "r.yaml"))
    (problem,) = caught.value.problems
    assert problem.message == "this is a recipe of v1: `servesweep migrate r.yaml` writes it as schema 2"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(CLEAN, id="v2"),
        pytest.param(CLEAN + "infra: {etcd_nats_dedicated_node: true}\n", id="a mistake beside an engine"),
        pytest.param(HEAD + "replicas: 2\nresources: {agg_nodes: 2}\n", id="a mistake beside replicas"),
    ],
)
def test_other_files_are_read_as_they_are(text: str) -> None:
    document = parse(text, "r.yaml")
    assert in_v2_words(document) == (document, ())


def test_what_cannot_be_migrated_is_refused_by_name() -> None:
    text = "schema: 2\nbase: {backend: {type: vllm}}\nzip_override_x: {a: [1, 2], b: [1, 2, 3]}\n"
    with pytest.raises(RecipeError, match=r"^r\.yaml: zip_override_x: the lists of a zip have one length"):
        in_v2_words(parse(text, "r.yaml"))


def test_problems_of_a_mixed_file_point_at_the_lines_it_has(tmp_path: Path) -> None:
    file = tmp_path / "r.yaml"
    file.write_text(MIXED.replace("{path: m}", "{path: m, precision: bf16, container: c}"))
    with pytest.raises(RecipeError) as caught:
        read_recipe_file(RecipeFile(str(file)), Cluster(), tmp_path)
    told = {(problem.line, problem.key) for problem in caught.value.problems}
    assert (MIXED.split("\n").index("  agg_wokers: 2") + 1, "resources.agg_wokers") in told
    assert {problem.file for problem in caught.value.problems} == {str(file)}


def test_variants_of_a_mixed_file_are_chosen_and_set_as_any_others(tmp_path: Path) -> None:
    file = tmp_path / "r.yaml"
    base = "base:\n" + "".join(f"  {line}\n" for line in PLAN.splitlines())
    file.write_text(f"schema: 2\n{base}override_two:\n  resources: {{agg_workers: 2}}\n")
    chosen = RecipeFile(str(file), "override_two")
    ((_, plan),) = read_recipe_file(chosen, Cluster(), tmp_path, ["roles.agg.workers=4"])
    assert (plan.variant, plan.topology.num_agg, plan.topology.gpus_per_agg) == ("two", 4, 2)
    assert plan.notes[0].startswith("written with keys of v1 (resources.agg_nodes and resources.agg_workers")


PLAN = """name: x
model: {path: /m, container: c, precision: bf16}
resources: {gpus_per_node: 8, agg_nodes: 1, agg_workers: 1}
frontend: {enable_multiple_frontends: false}
"""
