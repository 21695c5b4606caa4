"""Processes get the secrets; programs that keep words, and files, do not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.plan import Plan, plan_text
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.secrets import sources, with_secrets
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.problems import RecipeError
from servesweep.runtime.blot import Blot
from servesweep.runtime.shield import shielded

RECIPE = """\
schema: 2
name: demo
model: {path: tiny, precision: fp16}
engine: {type: command, argv: [serve, --port, "{port}", --api-key, sk-abcdef]}
roles: {agg: {nodes: 1, env: {HF_TOKEN: hf_abcdef}}}
frontend: {type: direct}
benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: "1"}
"""
SITE = "launcher: local\nenvironment: {SITE_AUTH: site-abcdef}\n"


def planned(text: str = RECIPE, settings: tuple[str, ...] = ()) -> Plan:
    Path("demo.yaml").write_text(text)
    Path("site.yaml").write_text(SITE)
    found = read_recipe_file(RecipeFile("demo.yaml"), read_cluster("site.yaml"), Path(), settings)
    return found[0][1]


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_plan_has_names_for_its_secrets() -> None:
    plan = planned()
    worker = next(step for step in plan.steps if step.kind == "worker")
    assert worker.command.argv[-2:] == ("--api-key", "${API_KEY}")
    assert worker.command.env["HF_TOKEN"] == "${HF_TOKEN}"
    assert not [word for word in ("sk-abcdef", "hf_abcdef", "site-abcdef") if word in plan_text(plan)]


def test_a_password_of_a_url_is_planned_by_name_and_handed_to_the_run() -> None:
    plan = planned(f"{RECIPE}environment: {{HTTPS_PROXY: 'http://me:pw%40-0001@proxy.lan:3128'}}\n")
    worker = next(step for step in plan.steps if step.kind == "worker")
    assert worker.command.env["HTTPS_PROXY"] == "http://me:${PASSWORD_AT_PROXY_LAN}@proxy.lan:3128"
    assert "0001" not in plan_text(plan)
    found = with_secrets(plan, "demo.yaml", "site.yaml", {})
    assert "pw%40-0001" in found.values
    assert found.plan.resolved.environment == {"HTTPS_PROXY": "http://me:pw%40-0001@proxy.lan:3128"}
    # The proxy tells what it was given.
    assert Blot(found.values)("Basic me pw@-0001") == "Basic me ***REDACTED***"


def test_a_new_token_is_the_same_configuration() -> None:
    assert planned(RECIPE.replace("hf_abcdef", "hf_rotated")).digest == planned().digest


def test_a_run_gets_them_from_recipe_and_cluster_file() -> None:
    found = with_secrets(planned(), "demo.yaml", "site.yaml", {})
    assert found.missing == ()
    assert set(found.values) == {"sk-abcdef", "hf_abcdef", "site-abcdef"}
    assert found.plan.resolved.engine is not None
    assert found.plan.resolved.engine.options["argv"][-1] == "sk-abcdef"
    assert found.plan.cluster.environment == {"SITE_AUTH": "site-abcdef"}


def test_without_the_files_it_gets_them_from_the_environment_or_tells_which_are_missing() -> None:
    plan = planned()
    Path("demo.yaml").unlink()
    environment = {"HF_TOKEN": "hf_shell", "SITE_AUTH": "site_shell"}
    found = with_secrets(plan, "demo.yaml", None, environment)
    assert set(found.values) == {"hf_shell", "site_shell"}
    assert found.missing == (
        "engine.argv.4: its value is a secret, which no file holds: set the variable API_KEY, "
        "or write the value into the recipe that is run",
    )


def test_the_directory_tells_the_files_only_where_the_plan_does_not() -> None:
    plan = planned()
    assert sources(plan, "demo.yaml", "site.yaml") == {"recipe": "demo.yaml", "cluster": "site.yaml"}
    Path("site.yaml").write_text("launcher: local\n")
    found = read_recipe_file(RecipeFile("demo.yaml"), read_cluster("site.yaml"), Path())
    assert sources(found[0][1], "demo.yaml", "site.yaml") is None
    assert sources(found[0][1], "copy.yaml", "site.yaml") == {"recipe": "copy.yaml", "cluster": "site.yaml"}


def test_a_mistake_beside_a_secret_is_told_without_it() -> None:
    with pytest.raises(RecipeError) as caught:
        planned(RECIPE.replace("HF_TOKEN: hf_abcdef", "HF_TOKEN: hf_abcdef, 1X: hf_abcdef"))
    assert "hf_abcdef" not in str(caught.value)


def test_a_secret_set_on_the_command_line_is_refused() -> None:
    with pytest.raises(RecipeError, match=r"set: roles\.agg\.env\.HF_TOKEN: a secret on the command line"):
        planned(RECIPE, ("roles.agg.env.HF_TOKEN=hf_x",))
    assert planned(RECIPE, ("roles.agg.env.HF_TOKEN=${MINE}",)).settings


def test_words_for_slurm_have_the_variable_and_the_process_has_the_value() -> None:
    handed = {"SERVESWEEP_SECRET_0": "s'ec $x", "SERVESWEEP_SECRET_1": "sk-abcdef"}
    plain = [
        "env",
        "A=1",
        "HF_TOKEN=s'ec $x",
        "python3",
        "-c",
        "import os, sys; print(sys.argv[1:], *os.environ)",
    ]
    words = shielded([*plain, "--api-key=sk-abcdef", "$HOME", "a b"], handed)
    assert not [word for word in words if "sk-abcdef" in word or "s'ec" in word]
    done = subprocess.run(
        words, env={"PATH": os.environ["PATH"], **handed}, capture_output=True, text=True, check=True
    )
    told, _, names = done.stdout.strip().partition("] ")
    assert told == "['--api-key=sk-abcdef', '$HOME', 'a b'"
    assert "HF_TOKEN" in names
    assert "SERVESWEEP_SECRET" not in names


def test_words_without_a_secret_stay_as_they_are() -> None:
    assert shielded(["prog", "x"], {"SERVESWEEP_SECRET_0": "hf_abcdef", "OTHER": "x"}) == ["prog", "x"]


def test_values_are_blotted_out_of_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "of-the-shell")
    blot = Blot.of(["hf_abcdef", "xy"])
    assert blot("with hf_abcdef and of-the-shell and xy") == "with ***REDACTED*** and ***REDACTED*** and xy"
