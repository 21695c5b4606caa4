"""Secrets reach the processes that need them, and nothing that is written."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.long

# Each planted in another place; the comment's stands in the recipe alone.
PLANTED = {
    "recipe": "planted-hf-0001-in-environment",
    "role": "planted-role-0002-in-env-of-a-role",
    "argv": "planted-sk-0003-in-argv",
    "service": "planted-db-0004-in-env-of-a-service",
    "service argv": "planted-sk-0005-in-command-of-a-service",
    "cluster": "planted-site-0006-in-the-cluster-file",
    "process": "planted-wandb-0007-in-the-process",
    "comment": "planted-old-0008-in-a-comment",
    "url": "planted-url-0012-of-a-hub",
}
# Written in another way wherever it is quoted, and one of several lines.
QUOTED = "planted-pw-0009\\with\"quotes'0009-of-both-kinds"
LINES = "-----BEGIN-----\nplanted-line-0010-of-a-key\nplanted-line-0011-of-a-key\n-----END-----\n"
HARD = ("planted-pw-0009", "0009-of-both-kinds", "planted-line-0010-of-a-key", "planted-line-0011-of-a-key")
# It prints everything it was given, as careless servers do, and notes what it has seen by digest alone.
SERVER = """\
import hashlib, json, os, sys
from pathlib import Path

def digests(texts):
    return sorted(hashlib.sha256(text.encode()).hexdigest() for text in texts)

print("started with", sys.argv, dict(os.environ), json.dumps(dict(os.environ)), flush=True)
seen = Path(sys.argv[1])
seen.write_text(json.dumps({"argv": digests(sys.argv), "env": digests(os.environ.values())}))
if "--port" in sys.argv:
    os.execvp("python3", ["python3", "-m", "servesweep.simulator", *sys.argv[2:sys.argv.index("--api-key")]])
"""
RECIPE = """\
# HF_TOKEN: {comment}
schema: 2
name: secretive
model: {{path: tiny, precision: fp16}}
engine:
  type: command
  argv: [python3, config/server.py, engine.seen, --host, "{{host}}", --port, "{{port}}",
    --model-path, "{{model}}", --model-name, "{{name}}", --api-key, {argv}]
  health: /health
environment:
  HF_TOKEN: {recipe}  # of the group's account
  SSH_KEY: |
    -----BEGIN-----
    planted-line-0010-of-a-key
    planted-line-0011-of-a-key
    -----END-----
  TOKENIZERS_PARALLELISM: "false"
  DB_PASSWORD: {quoted}
  HUB: http://me:{url}@hub.invalid:8443
roles: {{agg: {{nodes: 1, workers: 1, gpus: 1, env: {{ROLE_SECRET: "{role}"}}}}}}
resources: {{gpus_per_node: 2}}
services:
  - name: database
    command: [python3, config/server.py, service.seen, "--api-key={service argv}"]
    env: {{DB_PASSWORD: {service}}}
    critical: false
frontend: {{type: direct}}
health_check: {{max_attempts: 600, interval_seconds: 0.1}}
benchmark: {{type: sa-bench, isl: 8, osl: 4, concurrencies: "1", num_prompts_mult: 2, num_warmup_mult: 0}}
"""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(scope="module")
def ran(new_project: Any) -> Any:
    """A sweep of one configuration, in a project whose files and environment hold secrets."""
    project = new_project("secretive")
    project.write("config/server.py", SERVER)
    project.write("config/recipes/secretive.yaml", RECIPE.format(**PLANTED, quoted=json.dumps(QUOTED)))
    site = yaml.safe_load((project.root / "config/local.yaml").read_text())
    project.write(
        "config/local.yaml", yaml.safe_dump({**site, "environment": {"SITE_AUTH": PLANTED["cluster"]}})
    )
    project.environment["WANDB_API_KEY"] = PLANTED["process"]
    done = project.snakemake("--config", "recipes=config/recipes")
    assert done.returncode == 0, done.stdout
    project.said = done.stdout
    return project


def test_the_processes_got_the_real_values(ran: Any) -> None:
    engine = json.loads((ran.root / "engine.seen").read_text())
    service = json.loads((ran.root / "service.seen").read_text())
    assert digest(PLANTED["argv"]) in engine["argv"]
    for place in ("recipe", "role", "cluster", "process"):
        assert digest(PLANTED[place]) in engine["env"], place
    url = f"http://me:{PLANTED['url']}@hub.invalid:8443"
    assert {digest(QUOTED), digest(LINES), digest(url)} <= set(engine["env"])
    assert digest("--api-key=" + PLANTED["service argv"]) in service["argv"]
    assert digest(PLANTED["service"]) in service["env"]


def test_nothing_that_was_written_holds_one(ran: Any) -> None:
    written = [
        path
        for path in ran.root.rglob("*")
        if path.is_file() and path.relative_to(ran.root).parts[0] not in ("config", "workflow", "profiles")
    ]
    results = ran.root / "results/secretive"
    names = {str(path.relative_to(results)) for path in written if path.is_relative_to(results)}
    assert {"plan.json", "deployment.json", "recipe.yaml", "recipe.lock.yaml", "run.log"} <= names
    found = [
        (place, str(path.relative_to(ran.root)))
        for path in written
        for place, secret in [*PLANTED.items(), *enumerate(HARD)]
        if secret.encode() in path.read_bytes()
    ]
    assert found == []
    assert all(secret not in ran.said for secret in (*PLANTED.values(), *HARD))
    # The log is there with everything else that the server printed.
    log = next((results / "logs").glob("*agg_w0.out")).read_text()
    assert "started with" in log
    assert "***REDACTED***" in log


def test_the_lockfile_has_the_recipe_with_names_in_their_place(ran: Any) -> None:
    text = (ran.root / "results/secretive/recipe.lock.yaml").read_text()
    assert text.startswith("# HF_TOKEN: ${HF_TOKEN}\nschema: 2\n")
    assert '  HF_TOKEN: "${HF_TOKEN}"  # of the group' in text
    assert '  SSH_KEY: "${SSH_KEY}"\n  TOKENIZERS_PARALLELISM: "false"\n' in text
    assert '  HUB: "http://me:${PASSWORD_AT_HUB_INVALID}@hub.invalid:8443"\n' in text
    data = yaml.safe_load(text)
    assert data["engine"]["argv"][-1] == "${API_KEY}"


def test_a_run_of_the_lockfile_takes_them_from_the_environment_and_says_which_it_lacks(
    ran: Any, new_project: Any
) -> None:
    other = new_project("secretive-again")
    other.write("config/server.py", SERVER)
    lock = (ran.root / "results/secretive/recipe.lock.yaml").read_text()
    other.write("again.yaml", lock)
    words = ("validate", "again.yaml", "--cluster", str(ran.root / "config/local.yaml"))
    refused = other.servesweep(*words)
    assert refused.returncode == 1
    assert (
        "again.yaml: environment.HF_TOKEN: its value is a secret, which no file holds: set the variable "
        "HF_TOKEN, or write the value into the recipe that is run\n" in refused.stdout
    )
    assert "API_KEY" in refused.stdout
    assert "SITE_AUTH" not in refused.stdout


def test_a_point_loses_its_secret_before_the_next_one_is_measured(quick: Any) -> None:
    """The first command tells what it was given; the second one looks at what is left of that."""
    told = 'echo "{\\"$A_KEY\\": 0}" > $SERVESWEEP_METRICS; exit 3'
    waits = "until grep -q REDACTED results/quick/points/custom/invalid.json; do sleep 0.1; done"
    quick.recipe(
        benchmark={"type": "custom", "command": told, "env": {"A_KEY": PLANTED["role"]}},
        post_eval={"command": ["timeout", "60", "bash", "-c", waits]},
    )
    assert quick.run().returncode == 1
    assert quick.json("points/post-eval/result.json")["valid"]
    assert list(quick.json("points/custom/invalid.json")["metrics"]) == ["***REDACTED***"]


def test_a_secret_on_the_command_line_is_refused_before_anything_is_written(project: Any) -> None:
    project.write("config/recipes/secretive.yaml", RECIPE.format(**PLANTED, quoted=json.dumps(QUOTED)))
    setting = f"environment.HF_TOKEN={PLANTED['recipe']}x"
    done = project.snakemake("--config", "recipes=config/recipes", f"set={setting}")
    assert done.returncode == 1
    assert "environment.HF_TOKEN: a secret on the command line stands in logs" in done.stdout
    assert PLANTED["recipe"] not in done.stdout
    state = project.root / ".snakemake"
    assert not [p for p in state.rglob("*") if p.is_file() and PLANTED["recipe"].encode() in p.read_bytes()]
    assert not (project.root / "results").exists() or not list((project.root / "results").iterdir())
