"""A lockfile is a recipe again: the one configuration that it is of, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from servesweep.evidence.files import RunFiles, keep_plan
from servesweep.evidence.lockfile import integrity, write_lockfile
from servesweep.plan.plan import Plan, plan_text
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file, read_sweep
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError

HEAD = "schema: 2\n"
BODY = """\
name: demo  # as in the paper
model: {path: tiny, precision: fp16}
engine: simulator
roles: {agg: {nodes: 1, args: {itl-ms: 5}}}
frontend: {type: direct}
benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1x4}
"""
PLAIN = HEAD + BODY
BASE = "base:\n" + "".join(f"  {line}\n" for line in BODY.splitlines())
FAMILY = f"""{HEAD}{BASE}
override_long: {{benchmark: {{isl: 64}}}}
zip_override_slow: {{roles: {{agg: {{args: {{itl-ms: [10, 20]}}}}}}}}
"""
GRID = f"{HEAD}sweep: {{itl: [1, 2]}}\n{BODY}".replace("itl-ms: 5", 'itl-ms: "{itl}"')
CLUSTER = Cluster(launcher="local")


def planned(path: str, settings: tuple[str, ...] = (), results: Path | None = None) -> dict[str, Plan]:
    selected = RecipeFile(*path.split(":"))
    found = read_recipe_file(selected, CLUSTER, Path(), settings, results)
    return {configuration.id: plan for configuration, plan in found}


def lock_of(plan: Plan, source: str) -> Path:
    files = RunFiles(Path("results") / plan.configuration)
    keep_plan(files, plan_text(plan), source)
    return write_lockfile(files.root, plan)


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "selector", "settings", "names"),
    [
        (PLAIN, "", (), ["demo"]),
        (PLAIN, "", ("benchmark.osl=16", "roles.agg.args.seed=7"), ["demo"]),
        (FAMILY, "", (), ["demo_long", "demo_slow_0", "demo_slow_1"]),
        (FAMILY, ":base", (), ["demo"]),
        (GRID, "", (), ["demo_itl1", "demo_itl2"]),
    ],
    ids=["plain", "with values set", "family", "its base", "grid"],
)
def test_it_rebuilds_the_plan_byte_for_byte(
    text: str, selector: str, settings: tuple[str, ...], names: list[str]
) -> None:
    Path("demo.yaml").write_text(text)
    first = planned(f"demo.yaml{selector}", settings)
    assert list(first) == names
    for name, plan in first.items():
        lock = lock_of(plan, "demo.yaml")
        # Anywhere, under any name, and without the recipe.
        Path("elsewhere.yaml").write_text(lock.read_text())
        for path in (str(lock), "elsewhere.yaml"):
            again = planned(path)
            assert {key: plan_text(one) for key, one in again.items()} == {name: plan_text(plan)}


def test_further_values_can_be_set_over_those_of_the_first_run() -> None:
    Path("demo.yaml").write_text(PLAIN)
    (plan,) = planned("demo.yaml", ("benchmark.osl=16",)).values()
    (again,) = planned(str(lock_of(plan, "demo.yaml")), ("benchmark.isl=32",)).values()
    assert again.settings == ("benchmark.osl=16", "benchmark.isl=32")
    assert again.digest != plan.digest


def test_where_the_recipe_was_gone_the_resolved_one_gives_the_same_configuration() -> None:
    Path("demo.yaml").write_text(FAMILY)
    plan = planned("demo.yaml")["demo_long"]
    files = RunFiles(Path("results/demo_long"))
    keep_plan(files, plan_text(plan), "demo.yaml")
    files.recipe.unlink()
    again = planned(str(write_lockfile(files.root, plan)))
    assert {name: one.digest for name, one in again.items()} == {"demo_long": plan.digest}


def test_in_its_own_results_it_gets_a_directory_beside_the_first() -> None:
    Path("demo.yaml").write_text(PLAIN)
    (plan,) = planned("demo.yaml").values()
    lock = lock_of(plan, "demo.yaml")
    assert list(planned(str(lock), results=Path("results"))) == ["demo.again"]
    Path("copy.yaml").write_text(lock.read_text())
    assert list(planned("copy.yaml", results=Path("results"))) == ["demo"]


def test_beside_its_recipe_it_is_the_same_configuration_twice() -> None:
    Path("demo.yaml").write_text(PLAIN)
    (plan,) = planned("demo.yaml").values()
    lock = lock_of(plan, "demo.yaml")
    with pytest.raises(RecipeError, match=r"gives demo, as demo\.yaml does"):
        read_sweep([RecipeFile("demo.yaml"), RecipeFile(str(lock))], CLUSTER, Path())


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "version: 2",
            "version: 3",
            "the lock was changed after it was written: its integrity digest does not fit; take out its "
            "`lock:` section to use it as a recipe of its own",
        ),
        (
            "isl: 8",
            "isl: 9",
            "the recipe was changed after its lock was written: its digest does not fit; take out its "
            "`lock:` section to use it as a recipe of its own",
        ),
    ],
)
def test_a_changed_one_is_refused_in_one_sentence(old: str, new: str, sentence: str) -> None:
    Path("demo.yaml").write_text(PLAIN)
    (plan,) = planned("demo.yaml").values()
    lock = lock_of(plan, "demo.yaml")
    text = lock.read_text()
    line = text[: text.index("lock:\n")].count("\n") + 1
    lock.write_text(text.replace(old, new, 1))
    with pytest.raises(RecipeError) as caught:
        planned(str(lock))
    assert str(caught.value) == f"results/demo/recipe.lock.yaml:{line}: lock: {sentence}"


def test_comments_and_the_order_of_keys_may_change() -> None:
    Path("demo.yaml").write_text(PLAIN)
    (plan,) = planned("demo.yaml").values()
    lock = lock_of(plan, "demo.yaml")
    lock.write_text(lock.read_text().replace("  # as in the paper", ""))
    assert plan_text(planned(str(lock))["demo"]) == plan_text(plan)


def test_the_lock_of_another_program_is_not_looked_at() -> None:
    Path("theirs.yaml").write_text(PLAIN + "lock: {version: 2, integrity: none, variant: x}\n")
    assert list(planned("theirs.yaml")) == ["theirs"]


def test_texts_that_look_like_numbers_come_back_as_texts() -> None:
    # 1e5 is a number in YAML 1.2 alone, 1:30 and on only in 1.1.
    for word in ("1e5", "0o17", "1:30", "on", "012", "1234567890123e45", "~", "2026-11-29"):
        Path("demo.yaml").write_text(PLAIN.replace("itl-ms: 5", f'note: "{word}"'))
        (plan,) = planned("demo.yaml").values()
        files = RunFiles(Path("results/demo"))
        keep_plan(files, plan_text(plan), "demo.yaml")
        files.recipe.unlink()
        path = write_lockfile(files.root, plan)
        lock: dict[str, Any] = yaml.safe_load(path.read_text())
        assert lock["roles"]["agg"]["args"]["note"] == word
        assert lock["lock"]["integrity"] == integrity(lock["lock"])
        assert planned(str(path))["demo"].digest == plan.digest


def test_a_run_of_it_tells_what_differs(keep: Any) -> None:
    Path("demo.yaml").write_text(PLAIN)
    (plan,) = planned("demo.yaml").values()
    measured = {"output_throughput_tok_s": 100.0, "p99_ttft_ms": 20.0}
    found = {"arch": "x86_64", "hostname": "gpu07", "pip_packages": ["torch==2.8.0", "vllm==0.10.0"]}
    keep(Path("results/demo/logs/fingerprint_agg_w0.json"), found)
    first_point, second_point = plan.points
    keep(
        Path("results/demo/points/c1/result.json"),
        {"valid": True, "digest": first_point.digest, "metrics": measured},
    )
    lock = lock_of(plan, "demo.yaml")
    (again,) = planned(str(lock), results=Path("results")).values()
    files = RunFiles(Path("results/demo.again"))
    keep_plan(files, plan_text(again), str(lock))
    newer = {**found, "hostname": "gpu08", "pip_packages": ["numpy==2.1.0", "torch==2.9.0", "vllm==0.10.0"]}
    keep(files.logs / "fingerprint_agg_w0.json", newer)
    for point, factor in ((first_point, 1.1), (second_point, 1.0)):
        metrics = {name: value * factor for name, value in measured.items()}
        keep(files.result(point.id), {"valid": True, "digest": point.digest, "metrics": metrics})
    second = yaml.safe_load(write_lockfile(files.root, again).read_text())["lock"]
    first = yaml.safe_load(lock.read_text())["lock"]
    assert second["reproduces"] == {key: first[key] for key in ("generated_at", "integrity")}
    assert (files.logs / "reproduction-report.txt").read_text() == (
        f"Reproduction of demo, locked {first['generated_at']}\n\n"
        "plan: the same\n\n"
        "software and machine:\n"
        "  agg_w0.pip_packages.torch: 2.8.0 -> 2.9.0\n"
        "  agg_w0.pip_packages.numpy: only after: 2.1.0\n\n"
        "servesweep: the same\n\n"
        "results:\n"
        "  c1: output_throughput_tok_s: 100 -> 110 (+10.0%)\n"
        "  c1: p99_ttft_ms: 20 -> 22 (+10.0%)\n"
        "  c4: not valid -> valid\n"
    )


def test_the_plan_s_own_differences_are_told_by_key() -> None:
    Path("demo.yaml").write_text(PLAIN)
    (plan,) = planned("demo.yaml").values()
    lock = lock_of(plan, "demo.yaml")
    found = read_recipe_file(
        RecipeFile(str(lock)), Cluster(launcher="local", default_gpu_type="h100"), Path(), (), Path("results")
    )
    again = found[0][1]
    assert again.notes == (
        "not the plan of the lockfile (cluster file, version or a file that it names differ): its digest was "
        f"{plan.digest}, and this one has {again.digest}",
    )
    files = RunFiles(Path("results/demo.again"))
    keep_plan(files, plan_text(again), str(lock))
    write_lockfile(files.root, again)
    report = (files.logs / "reproduction-report.txt").read_text()
    assert f"  digest: {plan.digest} -> {again.digest}\n" in report
    assert "  cluster.default_gpu_type: only after: h100\n" in report
