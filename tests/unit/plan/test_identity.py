"""Ids and digests: what makes a configuration or a point another one, and what does not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from servesweep.plan.configuration import canonical, digest_of
from servesweep.plan.configuration_id import CONFIGURATION_ID, MAX_ID, configuration_id
from servesweep.plan.plan import Plan

Planner = Callable[..., Plan]

BODY = (
    "engine: sglang\n"
    "roles: {agg: {nodes: 1, args: {a: 1, b: 2}}}\n"
    "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1x4x16}\n"
    "slurm: {time_limit: 60}\n"
)


def points(plan: Plan) -> dict[str, str]:
    return {point.id: point.digest for point in plan.points}


def changed(old: str, new: str) -> str:
    assert BODY.count(old) == 1
    return BODY.replace(old, new)


def test_points_in_the_order_in_which_they_are_measured(plan: Planner) -> None:
    body = changed("concurrencies: 1x4x16", "concurrencies: [4, 1], req_rate: [2.5, .inf], repeats: 2")
    assert [(p.id, p.concurrency, p.request_rate, p.repeat) for p in plan(body).points] == [
        ("c4-r2.5", 4, 2.5, 0),
        ("c1-r2.5", 1, 2.5, 0),
        ("c4", 4, "inf", 0),
        ("c1", 1, "inf", 0),
        ("c4-r2.5-k1", 4, 2.5, 1),
        ("c1-r2.5-k1", 1, 2.5, 1),
        ("c4-k1", 4, "inf", 1),
        ("c1-k1", 1, "inf", 1),
    ]


def test_a_load_given_twice_is_one_point(plan: Planner) -> None:
    assert list(points(plan(changed("1x4x16", "[4, 4, 1, 4]")))) == ["c4", "c1"]


def test_every_point_has_a_digest_of_its_own(plan: Planner) -> None:
    found = points(plan(changed("1x4x16", "1x2, repeats: 3, req_rate: [1, 2]")))
    assert len(found) == len(set(found.values())) == 12


@pytest.mark.parametrize(
    "same",
    [
        "# a comment\n" + BODY,
        BODY.replace("\n", "\n\n"),
        "".join(reversed(BODY.splitlines(keepends=True))),
        BODY.replace("{a: 1, b: 2}", "{b: 2, a: 1}"),
        BODY.replace("1x4x16", '"1x4x16"'),
        BODY.replace("engine: sglang", "engine: {type: sglang}"),
        BODY.replace("time_limit: 60", 'time_limit: "01:00:00"'),
        BODY.replace("nodes: 1,", "nodes: 1, workers: 1, critical: true, env: {},"),
    ],
    ids=["comment", "blank lines", "moved keys", "moved arguments", "quotes", "longer form",
         "time limit in other words", "defaults spelt out"],
)  # fmt: skip
def test_another_spelling_is_the_same_configuration(plan: Planner, same: str) -> None:
    first, second = plan(BODY), plan(same)
    assert (second.digest, second.deployment_digest) == (first.digest, first.deployment_digest)
    assert points(second) == points(first)


def test_another_file_name_is_another_id_and_the_same_digest(plan: Planner) -> None:
    first, second = plan(BODY), plan(BODY, file="other.yaml")
    assert (first.configuration, second.configuration) == ("demo", "other")
    assert (second.digest, points(second)) == (first.digest, points(first))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("time_limit: 60", "time_limit: 90"),
        ("slurm: {", "health_check: {max_attempts: 5}\nslurm: {"),
        ("concurrencies: 1x4x16", "concurrencies: 1x4x16, client_processes: 2"),
    ],
)
def test_more_patience_changes_the_configuration_and_no_point(plan: Planner, old: str, new: str) -> None:
    first, second = plan(BODY), plan(changed(old, new))
    assert second.digest != first.digest
    assert second.deployment_digest == first.deployment_digest
    assert points(second) == points(first)


def test_a_changed_list_of_levels_keeps_the_points_that_stay(plan: Planner) -> None:
    first, second = plan(BODY), plan(changed("1x4x16", "[16, 64, 4]"))
    assert second.digest != first.digest
    assert list(points(second)) == ["c16", "c64", "c4"]
    kept = {"c4", "c16"}
    assert {key: points(second)[key] for key in kept} == {key: points(first)[key] for key in kept}


def test_more_repeats_keep_the_first_ones(plan: Planner) -> None:
    first, second = plan(BODY), plan(changed("1x4x16", "1x4x16, repeats: 2"))
    assert points(first).items() <= points(second).items()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a: 1", "a: 2"),
        ("nodes: 1", "nodes: 2"),
        ("engine: sglang", "engine: vllm"),
        ("nodes: 1,", "nodes: 1, env: {A: 1},"),
        ("slurm: {", "environment: {A: 1}\nslurm: {"),
        ("slurm: {", "frontend: {args: {router-mode: kv}}\nslurm: {"),
        ("time_limit: 60", "time_limit: 60, partition: other"),
    ],
)
def test_another_deployment_changes_every_point(plan: Planner, old: str, new: str) -> None:
    first, second = plan(BODY), plan(changed(old, new))
    assert second.digest != first.digest
    assert second.deployment_digest != first.deployment_digest
    assert not set(points(first).values()) & set(points(second).values())


@pytest.mark.parametrize(
    ("old", "new"), [("isl: 8", "isl: 9"), ("osl: 8", "osl: 8, seed: 1"), ("osl: 8", "osl: 8, api: chat")]
)
def test_another_load_changes_every_point_and_not_the_deployment(plan: Planner, old: str, new: str) -> None:
    first, second = plan(BODY), plan(changed(old, new))
    assert second.deployment_digest == first.deployment_digest
    assert not set(points(first).values()) & set(points(second).values())


def test_the_site_is_a_part_of_what_is_measured_and_its_patience_is_not(plan: Planner) -> None:
    first = plan(BODY)
    patient = plan(BODY, default_time_limit=90, default_account="other")
    assert points(patient) == points(first)
    assert patient.digest != first.digest
    assert points(plan(BODY, environment={"NCCL_DEBUG": "INFO"})) != points(first)


def test_an_alias_of_another_model_changes_nothing_and_the_recipes_own_does(plan: Planner) -> None:
    first = plan(BODY)
    more = plan(BODY, model_paths={"tiny": "/models/tiny", "large": "/models/large"})
    assert (more.digest, points(more)) == (first.digest, points(first))
    moved = plan(BODY, model_paths={"tiny": "/models/tiny-2"})
    assert not set(points(moved).values()) & set(points(first).values())


def test_a_digest_is_short_and_knows_no_order_of_keys() -> None:
    def digest(*parts: object) -> str:
        return digest_of(*map(canonical, parts))

    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest({"a": 1}) != digest({"a": "1"})
    assert digest([1, 2]) != digest([2, 1])
    assert len(digest()) == 16


ROOT = Path("config/recipes")


@pytest.mark.parametrize(
    ("file", "suffix", "expected"),
    [
        ("config/recipes/demo.yaml", None, "demo"),
        ("config/recipes/demo.yaml", "tp2", "demo_tp2"),
        ("config/recipes/h100/agg.yaml", "isl1024_osl8", "h100.agg_isl1024_osl8"),
        ("config/recipes/h100/agg.v2.yml", None, "h100.agg.v2"),
        ("../elsewhere/a b.yaml", None, "elsewhere.a-b"),
        ("/data/recipes/x.yaml", None, "data.recipes.x"),
        ("config/recipes/.hidden.yaml", None, "hidden"),
        ("config/recipes/größe.yaml", "tp2", "gr-e-d353a267_tp2"),
        ("config/recipes/---.yaml", None, "recipe"),
    ],
)
def test_an_id_is_made_from_path_and_variant(file: str, suffix: str | None, expected: str) -> None:
    assert configuration_id(file, ROOT, suffix) == expected


def test_a_long_id_is_cut_and_stays_unique_and_stable() -> None:
    long = "config/recipes/" + "x" * 200
    first, second = (configuration_id(f"{long}{end}.yaml", ROOT, None) for end in "ab")
    assert len(first) == len(second) == MAX_ID
    assert first != second
    assert first == configuration_id(f"{long}a.yaml", ROOT, None)


def test_ids_of_a_sweep_are_unique_and_file_name_safe(plans: Callable[..., list[Plan]]) -> None:
    import re

    text = (
        "base:\n"
        "  schema: 2\n"
        "  name: demo\n"
        "  model: {path: tiny, precision: fp8}\n"
        "  engine: sglang\n"
        "  roles: {agg: {nodes: 1, args: {mem: '{mem}', m: '{mode}'}}}\n"
        "  sweep: {mem: [0.8, 0.85], mode: [a b, ../c]}\n"
        "override_x: {}\n"
        "zip_override_y: {resources: {gpu_type: [h100, h200]}}\n"
    )
    found = [plan.configuration for plan in plans(text, head="")]
    assert len(found) == len(set(found)) == 12
    assert all(re.fullmatch(CONFIGURATION_ID, name) for name in found)
    assert found[:2] == ["demo_x_mem0.8_modea-b", "demo_x_mem0.8_mode..-c"]


def test_the_content_of_a_named_file_is_part_of_the_identity(tmp_path: Path) -> None:
    from servesweep.plan.cluster_file import read_cluster
    from servesweep.plan.recipe_files import RecipeFile
    from servesweep.plan.resolving import file_digest
    from servesweep.plan.sweep import read_recipe_file

    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text("{}")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "schema: 2\nname: x\nmodel: {path: tiny, precision: fp16}\nengine: simulator\n"
        "roles: {agg: {nodes: 1, gpus: 8}}\nfrontend: {type: direct}\n"
        f"benchmark: {{type: sa-bench, isl: 8, osl: 8, concurrencies: 1, custom_tokenizer: {tmp_path}}}\n"
    )
    cluster = read_cluster("config/local.yaml")

    def identity() -> str:
        file_digest.cache_clear()
        return read_recipe_file(RecipeFile(str(recipe)), cluster, tmp_path)[0][1].digest

    before = identity()
    assert identity() == before
    tokenizer.write_text('{"version": "1.0"}')
    assert identity() != before
