"""What stands around a step in a container: mounts, and what runs before its command, as whole values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from servesweep.plan.plan import Plan, Step
from servesweep.plan.preflight import preflight

Planner = Callable[..., Plan]
HEAD = "schema: 2\nname: demo\nmodel: {path: tiny, precision: fp8, container: image%s}\n"
AGG = "engine: sglang\nroles: {agg: {nodes: 1}}\n"
PIP = "python3 -m pip install --quiet --disable-pip-version-check"


@pytest.fixture
def plan(plan: Planner) -> Planner:
    """Plans of recipes that name an image."""
    return lambda text, head=HEAD % "", **site: plan(text, head=head, **site)


def step(plan: Plan, name: str = "agg_0") -> Step:
    return next(step for step in plan.steps if step.name == name)


def mounts(plan: Planner, more: str = "", **site: Any) -> dict[str, str]:
    return step(plan(AGG + more, container_runtime="pyxis", **site)).mounts


def test_logs_and_model_are_always_mounted(plan: Planner) -> None:
    assert mounts(plan) == {"<LOGS>": "/logs", "/models/tiny": "/model"}


def test_a_model_of_the_hub_is_not_mounted(plan: Planner) -> None:
    head = (HEAD % "").replace("tiny", "'hf:org/m'")
    found = step(plan(AGG, head=head, container_runtime="pyxis"))
    assert found.mounts == {"<LOGS>": "/logs"}
    assert "org/m" in found.command.argv


def test_site_extra_and_recipe_s_mounts_follow_in_this_order(plan: Planner) -> None:
    more = (
        "setup_script: patches/x.sh\n"
        "extra_mount: ['/a:/b:ro', '/data/{run_name}:/runs']\n"
        "container_mounts: {'$HOME/cache-{job_id}': /cache, '/n{gpus_per_node}': '/{head_node_ip}'}\n"
    )
    assert list(mounts(plan, more, default_mounts={"/lustre": "/lustre"}).items()) == [
        ("<LOGS>", "/logs"),
        ("/models/tiny", "/model"),
        ("patches", "/configs"),
        ("/lustre", "/lustre"),
        ("/a", "/b:ro"),
        ("/data/demo", "/runs"),
        ("$HOME/cache-<JOB>", "/cache"),
        ("/n8", "/ip-n0"),
    ]


@pytest.mark.parametrize(
    ("mine", "found"),
    [
        # The same host path: it is where the later one says.
        ("container_mounts: {/lustre: /data}\n", {"/lustre": "/data"}),
        # The same path inside: the later one is there.
        ("extra_mount: ['/scratch:/lustre:ro']\n", {"/scratch": "/lustre:ro"}),
        ("extra_mount: ['/lustre:/x']\ncontainer_mounts: {/lustre: /y}\n", {"/lustre": "/y"}),
    ],
)
def test_a_later_mount_takes_the_place_of_an_earlier_one(
    plan: Planner, mine: str, found: dict[str, str]
) -> None:
    built_in = {"<LOGS>": "/logs", "/models/tiny": "/model"}
    assert mounts(plan, mine, default_mounts={"/lustre": "/lustre"}) == {**built_in, **found}


def test_a_staged_model_is_mounted_from_the_worker_s_disk_and_elsewhere_from_where_it_came(
    plan: Planner,
) -> None:
    head = HEAD % ", stage_dir: /nvme/models/"
    two = "engine: sglang\nroles: {agg: {nodes: 1}}\nfrontend: {placement: {node: dedicated}}\n"
    found = plan(two, head=head, container_runtime="pyxis")
    assert step(found).mounts["/nvme/models/tiny"] == "/model"
    assert step(found, "frontend_0").mounts["/models/tiny"] == "/model"
    bare = plan(two, head=head)
    assert "/nvme/models/tiny" in step(bare).command.argv
    assert bare.served_model == "tiny"


def test_nothing_is_mounted_or_run_before_where_steps_are_bare(plan: Planner) -> None:
    found = step(plan(AGG, default_mounts={"/a": "/b"}, default_bash_preamble="echo"))
    assert (found.image, found.mounts, found.preamble) == (None, {}, None)


def test_the_site_s_preamble_the_setup_script_and_dynamo_come_first(plan: Planner) -> None:
    more = "setup_script: fix it.sh\ndynamo: {source: {pypi: 1.2.0}}\n"
    found = plan(AGG + more, container_runtime="pyxis", default_bash_preamble="ulimit -n 65536\n")
    expected = f"set -e\nulimit -n 65536\nbash '/configs/fix it.sh'\n{PIP} ai-dynamo==1.2.0\nset +e"
    assert step(found).preamble == expected
    assert step(found, "frontend_0").preamble == expected
    assert step(found).srun_options == {"container-remap-root": ""}
    assert step(found, "etcd").preamble == "set -e\nulimit -n 65536\nset +e"
    assert step(found, "etcd").srun_options == {}


def test_bare_the_setup_script_runs_from_the_project(plan: Planner) -> None:
    assert step(plan(AGG + "setup_script: x.sh\n")).preamble == "set -e\nbash configs/x.sh\nset +e"


def test_nginx_and_routers_are_not_the_engine_s_image(plan: Planner) -> None:
    two = "engine: sglang\nroles: {agg: {nodes: 2, workers: 2}}\nfrontend: {type: sglang-router}\n"
    more = "setup_script: x.sh\ndynamo: {source: {pypi: 1.2.0}}\n"
    found = plan(two + more, container_runtime="pyxis", default_bash_preamble="echo")
    assert step(found, "nginx").preamble is None
    assert step(found, "frontend_0").preamble == "set -e\necho\nset +e"
    assert step(found).preamble == "set -e\necho\nbash /configs/x.sh\nset +e"


@pytest.mark.parametrize(
    ("source", "words", "mounted"),
    [
        ("{pypi: 1.2.0}", "ai-dynamo==1.2.0", {}),
        ("{wheel: 1.3.0.dev1}", "--find-links /wheels ai-dynamo==1.3.0.dev1",
         {"wheelhouse/dynamo": "/wheels:ro"}),
        ("{wheel: /w/ai_dynamo-1-py3-none-any.whl}", "/wheels/ai_dynamo-1-py3-none-any.whl",
         {"/w": "/wheels:ro"}),
        ("{git: 'https://g/d.git', rev: v1, sha: abc}",
         "'ai-dynamo-runtime @ git+https://g/d.git@abc#subdirectory=lib/bindings/python'"
         " 'ai-dynamo @ git+https://g/d.git@abc'", {}),
    ],
)  # fmt: skip
def test_dynamo_is_installed_from_its_source(
    plan: Planner, source: str, words: str, mounted: dict[str, str]
) -> None:
    found = step(plan(AGG + f"dynamo: {{source: {source}}}\n", container_runtime="pyxis"))
    assert found.preamble == f"set -e\n{PIP} {words}\nset +e"
    assert found.mounts == {"<LOGS>": "/logs", "/models/tiny": "/model", **mounted}


def test_dynamo_is_not_installed_where_the_recipe_says_so(plan: Planner) -> None:
    more = "dynamo: {install: false, source: {pypi: 1.2.0}}\n"
    assert step(plan(AGG + more, container_runtime="pyxis")).preamble is None


def test_of_the_tasks_that_share_a_container_the_first_one_installs(plan: Planner) -> None:
    text = "engine: trtllm\nroles: {agg: {nodes: 1, gpus: 8}}\ndynamo: {source: {pypi: 1.2.0}}\n"
    assert step(plan(text, container_runtime="pyxis")).preamble == (
        "set -e\n"
        "mkdir -p <SCRATCH>\n"
        'exec 9><SCRATCH>/setup_"$SLURM_STEP_ID".lock\n'
        "flock 9\n"
        'if [ ! -e <SCRATCH>/setup_"$SLURM_STEP_ID".done ]; then\n'
        f"  {PIP} ai-dynamo==1.2.0\n"
        '  : ><SCRATCH>/setup_"$SLURM_STEP_ID".done\n'
        "fi\n"
        "exec 9>&-\n"
        "set +e"
    )


def test_files_that_a_recipe_names_and_are_not_there_are_told_before_anything_starts(
    plan: Planner, tmp_path: Path
) -> None:
    head = (HEAD % "").replace("image", "./e.sqsh")
    text, site = AGG + "setup_script: x.sh\n", {"container_runtime": "pyxis"}
    told = [str(problem) for problem in preflight(plan(text, head=head, **site))]
    assert any("setup_script: there is no such file: configs/x.sh" in line for line in told)
    assert any("model.container: there is no such image file: ./e.sqsh" in line for line in told)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs/x.sh").write_text("true\n")
    (tmp_path / "e.sqsh").write_text("")
    assert len(preflight(plan(text, head=head, **site))) == len(told) - 2


def test_without_an_image_nothing_is_started_in_a_cluster_of_containers(plan: Planner) -> None:
    head = "schema: 2\nname: demo\nmodel: {path: tiny, precision: fp8}\n"
    sentence = "model.container: no image is named, and the cluster runs its processes in containers"
    told = [str(problem) for problem in preflight(plan(AGG, head=head, container_runtime="pyxis"))]
    assert any(sentence in line for line in told)
    assert not any(sentence in str(problem) for problem in preflight(plan(AGG, head=head)))
