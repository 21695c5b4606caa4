"""Files as people have them: line ends, marks, tabs, anchors, locks; and what is no recipe."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import yaml

from servesweep.migration.migrate import migrate_text
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.source import parse

V1 = """name: x
model: {path: m}
resources:
  gpus_per_node: 8
  agg_nodes: 1
  agg_workers: 1
backend:
  type: sglang
  sglang_config:
    aggregated:
      tp-size: 8
dynamo: {install: false}
"""
V2 = """schema: 2
name: x
model: {path: m}
resources:
  gpus_per_node: 8
engine: sglang
roles:
  agg:
    nodes: 1
    workers: 1
    args:
      tp-size: 8
dynamo:
  install: false
"""


def migrated(text: str) -> str:
    """The text after a migration, which a second one leaves alone, and whose lines are all known."""
    once = migrate_text(text, "r.yaml")
    assert migrate_text(once.text, "r.yaml").text == once.text
    assert len(once.lines) == once.text.count("\n") + 1
    return once.text


def refusal(text: str) -> str:
    with pytest.raises(RecipeError) as caught:
        migrate_text(text, "r.yaml")
    (problem,) = caught.value.problems
    return str(problem)


def test_the_recipe_of_these_tests() -> None:
    assert migrated(V1) == V2


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(V1.rstrip(), V2.rstrip(), id="no final newline"),
        pytest.param(V1.replace("\n", "\r\n"), V2.replace("\n", "\r\n"), id="Windows"),
        pytest.param(V1.replace("\n", "\r\n").rstrip(), V2.replace("\n", "\r\n").rstrip(), id="both"),
        pytest.param("---\n" + V1, "---\n" + V2, id="document start"),
        pytest.param("# c\n--- # d\n" + V1, "# c\n--- # d\n" + V2, id="comments around it"),
        pytest.param("%YAML 1.1\n---\n" + V1, "%YAML 1.1\n---\n" + V2, id="directive"),
        pytest.param(V1 + "...\n# bye\n", V2 + "...\n# bye\n", id="document end"),
        pytest.param(V1 + "\n\n\n", V2 + "\n\n\n", id="blank lines at the end"),
        pytest.param(V1.replace("p-size: ", "p-size:\t"), V2.replace("p-size: ", "p-size:\t"), id="a tab"),
        pytest.param(V1.replace("s: 1\n", "s: 1\t#\n"), V2.replace("s: 1\n", "s: 1\t#\n"), id="comment"),
        pytest.param(V1.replace("agg_nodes: 1", "'agg_nodes': 1"), V2, id="quoted key"),
        pytest.param(V1.replace("backend:", "backend:   "), V2, id="trailing spaces"),
        pytest.param("".join(f"  {line}\n" for line in V1.splitlines()), V2, id="the whole file indented"),
    ],
)  # fmt: skip
def test_line_ends_marks_and_spaces_stay(before: str, after: str) -> None:
    assert migrated(before) == after


LOCK = """
# written at the end of the run
lock:
  version: 2
  generated_at: 2026-01-02T03:04:05Z
  resolved: {model_path: /models/m}
  fingerprints:
    agg_w0:
      env: {DYN_LOG: "info"}
  backend: {type: sglang}   # no recipe's
  integrity: 0f3a
"""


def test_the_block_of_a_lockfile_stays_as_it_is() -> None:
    assert migrated(V1 + LOCK) == V2 + LOCK
    assert migrated(V2 + LOCK) == V2 + LOCK


@pytest.mark.parametrize("lock", ["lock: null\n", "lock: {version: 1, slurm: {job_id: '7'}}\n", "lock: []\n"])
def test_older_and_empty_locks_stay(lock: str) -> None:
    assert migrated(V1 + lock) == V2 + lock


def test_a_lock_beside_a_base_stays() -> None:
    base = "base:\n" + "".join(f"  {line}\n" for line in V1.splitlines())
    text = migrated(base + "override_a:\n  resources:\n    agg_workers: 2\n" + LOCK)
    assert text.endswith("override_a:\n  roles:\n    agg:\n      workers: 2\n" + LOCK)


def test_anchors_aliases_and_merge_keys() -> None:
    text = migrated(
        """
name: x
model: {path: m}
resources: {prefill_nodes: 1, prefill_workers: 1, decode_nodes: 1, decode_workers: 1, gpus_per_node: 8}
backend:
  type: vllm
  prefill_environment: &env
    A: "1"   # one
  decode_environment: *env
  vllm_config:
    prefill: &args
      tp: 8
      host: 0.0.0.0
    decode:
      <<: *args
      ep: true
dynamo: {install: false}
"""
    )
    data = parse(text, "r.yaml").data
    assert data["roles"]["prefill"] == {"nodes": 1, "workers": 1, "env": {"A": "1"}, "args": {"tp": 8}}
    assert data["roles"]["decode"] == {
        "nodes": 1, "workers": 1, "env": {"A": "1"}, "args": {"tp": 8, "ep": True},
    }  # fmt: skip
    assert text.count("# one") == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (V1 + "---\n" + V1, "r.yaml:13: the file holds several documents (`---`); write one recipe a file"),
        ("a: 1\n---\nb: 1\n", "r.yaml:2: the file holds several documents"),
        (V1.replace("\n", "\r"), "r.yaml:1: a carriage return stands here alone"),
        (V1.replace("path: m", "path: \u2028"), "r.yaml:2: the line separator U+2028 stands here alone"),
        (V1.replace("  agg_nodes", "\tagg_nodes"), "r.yaml:5: not valid YAML: found a tab character"),
        ("--- # c\n" + V1.replace("  agg_n", "\tagg_n"), "r.yaml:6: not valid YAML: found a tab character"),
        ("# c\n---\n" + V1 + "name: y\n", "r.yaml:15: name: this key stands here twice"),
        ("a: &a\n  b: *a\n" + V1, "r.yaml: an alias refers to a block that contains it"),
        (V1 + "\0", "r.yaml: not valid YAML"),
        ("kind: Pod\nspec: {}\n", "r.yaml: this is no recipe: it has none of model"),
        ("# nothing\n", "r.yaml: this is no recipe: the file is not a mapping"),
        (
            "default_account: a\nmodel_paths: {}\n",
            "r.yaml: this is a cluster file, and no recipe: it is used as it is",
        ),
        ("resources: [1]\nmodel: m\n", "r.yaml:1: resources: expected a mapping of `key: value`, got a list"),
        ("resources:\n  agg_nodes: two\n", "r.yaml:2: resources.agg_nodes: expected a number, got 'two'"),
        ("resources:\n  agg_nodes: [1, 2]\n", "r.yaml:2: resources.agg_nodes: expected a number, got a list"),
        (
            "resources:\n  agg_critical: 1\n",
            "r.yaml:2: resources.agg_critical: expected true or false, got 1",
        ),
        ("backend:\n  vllm_config: [a]\n", "r.yaml:2: backend.vllm_config: expected a mapping"),
        (
            "backend:\n  sglang_config: {aggregated: 5}\n",
            "r.yaml:2: backend.sglang_config.aggregated: expected a mapping of `key: value`, got 5",
        ),
        ("backend: {}\nservices: 1.5\n", "r.yaml:2: services: expected a list, got 1.5"),
        (
            "backend: {}\nroles: {agg: {gpus: [1]}}\n",
            "r.yaml:2: roles.agg.gpus: expected a number, got a list",
        ),
        (
            "backend: {}\nroles: {agg: {args: hello}}\n",
            "r.yaml:2: roles.agg.args: expected a mapping of `key: value`, got 'hello'",
        ),
        ("base:\n  backend: x\n", "r.yaml:2: backend: expected a mapping of `key: value`, got 'x'"),
    ],
)
def test_what_cannot_be_migrated_is_one_sentence_with_its_line(text: str, sentence: str) -> None:
    assert refusal(text).startswith(sentence)


@pytest.mark.parametrize("seed", range(150))
def test_damaged_recipes_are_migrated_or_refused(seed: int, random_file: Callable[[int], str]) -> None:
    """Whatever a slip of a finger makes of a file: no traceback, and what comes out stays when done again."""
    dice = random.Random(seed)
    lines = random_file(seed % 40).splitlines()
    for _ in range(dice.randint(1, 3)):
        _damage(dice, lines)
    text = ("schema: 2\n" if dice.random() < 0.3 else "") + "\n".join(lines) + "\n"
    try:
        once = migrate_text(text, "r.yaml")
    except RecipeError:
        return
    yaml.safe_load(once.text)
    assert migrate_text(once.text, "r.yaml").text == once.text
    assert len(once.lines) == once.text.count("\n") + 1


VALUES = ("null", "[]", "{}", "x", "'1'", "0", "-1", "1.5", "true", "[1, 2]", "{a: b}", "*x", "|", "012", '"')


def _damage(dice: random.Random, lines: list[str]) -> None:
    at = dice.randrange(len(lines))
    kind, line = dice.randrange(6), lines[at]
    if kind == 0:
        lines[at] = f"{line.split(':')[0]}: {dice.choice(VALUES)}"
    elif kind == 1 and len(lines) > 1:
        del lines[at]
    elif kind == 2:
        lines.insert(at, dice.choice(lines))
    elif kind == 3:
        lines[at] = dice.choice(("  ", "\t")) + line
    elif kind == 4:
        lines[at] = line[2:]
    else:
        cut = dice.randint(0, len(line))
        lines[at] = line[:cut] + dice.choice("\t:#{}[]&*'\"-?|>%@`!, \x85") + line[cut:]
