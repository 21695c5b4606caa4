"""Every mistake of a recipe is told in one go, whichever of them is found first."""

from __future__ import annotations

from pathlib import Path

import pytest

from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError

VARIANTS = """\
schema: 2
overide_y: {name: z}
base:
  name: demo
  model: {path: tiny, precision: fp8}
  engine: simulator
  frontend: {type: sglang-router}
  roles: {agg: {nodes: 1, gpus: 1, kv_events: {topics: a}}}
  slurm: {qos: high}
  benchmark: {type: sa-bench, isl: 10, osl: 10, concurrencies: 0x4}
  environment: {B: true}
override_x:
  roles: {agg: {workers: many}}
zip_override_z:
  roles: {agg: {gpus: [1, 2], workers: [1, 2, 3]}}
"""
PLAIN = """\
schema: 2
name: demo
model: {path: tiny, precision: fp8}
engine: sglang
frontend: {type: sglang-router}
roles:
  agg: {nodes: 1, gpus: 1, args: {tp-size: 1, tp_size: 1}, kv_events: {topics: a}}
sbatch_directives: {nodes: 4}
profiling: {type: torchh}
benchmark: {type: sa-bench, isl: {isl}, osl: 10, concurrencies: 4, req_rate: 1x2}
sweep: {isl: [1, 2]}
"""


def told(text: str, directory: Path, *settings: str) -> list[str]:
    """Line and key of every problem, sorted."""
    file = directory / "r.yaml"
    file.write_text(text)
    with pytest.raises(RecipeError) as caught:
        read_recipe_file(RecipeFile(str(file)), Cluster(), directory, settings)
    return [f"{one.line}: {one.key}" for one in sorted(caught.value.problems, key=lambda one: one.line or 0)]


def test_faults_of_the_file_of_its_variants_and_of_its_sections(tmp_path: Path) -> None:
    assert told(VARIANTS, tmp_path) == [
        "2: overide_y",
        "8: roles.agg.kv_events.topics",
        "9: slurm.qos",
        "10: base.benchmark.concurrencies",
        "11: environment.B",
        "13: roles.agg.workers",
        "15: zip_override_z.roles.agg.gpus",
    ]


def test_faults_of_sections_beside_rules_of_others_and_a_grid(tmp_path: Path) -> None:
    assert told(PLAIN, tmp_path) == [
        "7: roles.agg.kv_events.topics",
        "7: roles.agg.args.tp_size",
        "8: sbatch_directives.nodes",
        "9: profiling.type",
        "10: benchmark.isl",
        "10: benchmark.req_rate",
    ]


def test_what_cannot_be_set_is_told_once_for_all_variants(tmp_path: Path) -> None:
    assert told(VARIANTS.replace("0x4", "4"), tmp_path, "sweep.tp=[8]") == ["None: "]


def test_a_value_that_cannot_be_used_gives_no_second_complaint(tmp_path: Path) -> None:
    text = PLAIN.replace("1x2}", "2}").replace("profiling: {type: torchh}\n", "")
    roles = "roles:\n  agg:\n    nodes: 1\n    args: &a\n      b: *a\n"
    text = text[: text.index("roles:")] + roles + text[text.index("sbatch_directives") :]
    assert told(text, tmp_path) == [
        "9: roles.agg.args.b",
        "11: sbatch_directives.nodes",
        "12: benchmark.isl",
    ]
