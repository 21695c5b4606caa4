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


@pytest.mark.parametrize(
    "lock",
    [
        "lock:\n",
        "lock: null\n",
        "lock: {}\n",
        "lock: []\n",
        "lock: later\n",
        "lock:\n  version: 2\n  generated_at: 2026-03-14T09:26:53Z\n",
        "lock:\n  version: 2\n  configuration: demo_long\n  variant: long\n",
    ],
    ids=["cut", "null", "empty", "a list", "text", "cut behind its first lines", "without its version line"],
)
def test_an_incomplete_one_is_not_the_whole_recipe(lock: str) -> None:
    Path("half.lock.yaml").write_text(FAMILY + lock)
    with pytest.raises(RecipeError) as caught:
        planned("half.lock.yaml")
    line = FAMILY.count("\n") + 1
    assert str(caught.value) == (
        f"half.lock.yaml:{line}: lock: the lock is incomplete: run the recipe itself, or take out the "
        "`lock:` section"
    )


NAME = (
    "no name of a configuration, which is that of a directory (letters, digits and . _ + -, the first a "
    "letter or a digit, 120 at most), got"
)
MISSING = "required key is missing"


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("configuration", "../../evil", f"{NAME} '../../evil'"),
        ("configuration", "", f"{NAME} ''"),
        ("configuration", "a/b", f"{NAME} 'a/b'"),
        ("configuration", "..", f"{NAME} '..'"),
        ("configuration", "demo\n", f"{NAME} 'demo\\n'"),
        ("configuration", "x" * 121, f"{NAME} '{'x' * 56}..."),
        ("configuration", 7, 'expected text, got the number 7: write it in quotes, "7"'),
        ("configuration", ..., MISSING),
        ("settings", ..., MISSING),
        ("settings", None, "expected a list, got nothing (null)"),
        ("settings", "a=1", "expected a list, got 'a=1'"),
        ("variant", ..., MISSING),
        ("recipe", None, "expected text, got nothing (null)"),
        ("generated_at", ..., MISSING),
        ("slurm", "job 7", "expected a mapping, got 'job 7'"),
        ("results", ["c1"], "expected a mapping, got a list"),
    ],
)
def test_one_made_by_hand_is_told_its_keys(key: str, value: object, sentence: str) -> None:
    made_by_hand(FAMILY, {key: value})
    with pytest.raises(RecipeError) as caught:
        planned("made.lock.yaml")
    where, told = str(caught.value).split(f": lock.{key}: ")
    assert where.startswith("made.lock.yaml:")
    assert told == f"{sentence}; take out its `lock:` section to use it as a recipe of its own"


@pytest.mark.parametrize(
    ("text", "variant", "sentence"),
    [
        (FAMILY, "lang", "the recipe has no variant 'lang'; did you mean long?"),
        (FAMILY, "tp8", "the recipe has no variant 'tp8'; it has long, slow_0, slow_1"),
        (GRID, None, "the recipe has no configuration without a variant; it has itl1, itl2"),
    ],
)
def test_a_variant_that_the_recipe_does_not_have(text: str, variant: str | None, sentence: str) -> None:
    lines = made_by_hand(text, {"variant": variant})
    at = next(number for number, line in enumerate(lines, 1) if line.startswith("  variant:"))
    with pytest.raises(RecipeError) as caught:
        planned("made.lock.yaml")
    assert str(caught.value) == f"made.lock.yaml:{at}: lock.variant: {sentence}"


def test_a_repetition_of_the_longest_name_has_a_valid_name_too() -> None:
    longest = "x" * 120
    made_by_hand(PLAIN, {"configuration": longest})
    lock = Path("results") / longest / "recipe.lock.yaml"
    lock.parent.mkdir(parents=True)
    Path("made.lock.yaml").rename(lock)
    (name,) = planned(str(lock), results=Path("results"))
    assert name != longest
    assert len(name) == 120


def made_by_hand(text: str, changes: dict[str, object]) -> list[str]:
    """Write a lockfile with some keys changed, or left out (`...`), and its integrity computed anew."""
    Path("demo.yaml").write_text(text)
    plan = next(iter(planned("demo.yaml").values()))
    data = yaml.safe_load(lock_of(plan, "demo.yaml").read_text())
    lock = {key: value for key, value in {**data["lock"], **changes}.items() if value is not ...}
    made = text + yaml.safe_dump({"lock": {**lock, "integrity": integrity(lock)}}, width=1000)
    Path("made.lock.yaml").write_text(made)
    return made.splitlines()


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
