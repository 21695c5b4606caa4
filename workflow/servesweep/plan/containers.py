"""What stands around a step's command: its container's mounts, and the shell text that runs first."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from servesweep.plan.plan import Step
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.dynamo import DynamoSection, DynamoSource
from servesweep.recipe.recipe import Recipe
from servesweep.services.placeholders import fill
from servesweep.topology.deployment import Deployment, changed

SETUP_DIRECTORY = "configs"
SETUP_MOUNT = "/configs"
WHEELS = "wheelhouse/dynamo"
WHEEL_MOUNT = "/wheels"
PIP = "python3 -m pip install --quiet --disable-pip-version-check"
NGINX = "nginx"


def in_containers(
    steps: Iterable[Step], recipe: Recipe, cluster: Cluster, deployment: Deployment
) -> list[Step]:
    """The steps with their mounts, which are the same for all of a kind and an image, and preambles."""
    known: dict[tuple[str, str], dict[str, str]] = {}
    installation = dynamo_install(recipe.dynamo, deployment)
    found = []
    for step in steps:
        update = around(step, recipe, cluster, deployment, installation)
        if step.image:
            key = (step.kind, step.image)
            known[key] = update["mounts"] = known.get(key) or mounts(step, recipe, cluster, deployment)
        found.append(changed(step, **update) if update else step)
    return found


def around(
    step: Step, recipe: Recipe, cluster: Cluster, deployment: Deployment, installation: str | None
) -> dict[str, Any]:
    """What a step's preamble adds to it; `installation` is that of `dynamo_install`.

    A recipe's `setup_script` and Dynamo's own installation belong to workers and Dynamo's frontends, the
    cluster's preamble to every container but nginx's, whose image is not the recipe's.
    """
    installs = step.kind in ("worker", "frontend") and step.name != NGINX
    once = []
    # As in srt-slurm routers, which are no part of the engine's image, go without it.
    if (step.kind == "worker" or deployment.transport == "dynamo") and installs and recipe.setup_script:
        script = _setup_script(recipe.setup_script)
        where = f"{SETUP_MOUNT}/{script.name}" if step.image else str(script)
        once.append(f"bash {shlex.quote(where)}")
    options = step.srun_options
    if installs and step.image and installation:
        once.append(installation)
        # pip writes where only root may.
        options = {"container-remap-root": "", **options}
    lines = [_once_a_node(once, step, deployment)] if once else []
    if step.image and cluster.default_bash_preamble and step.name != NGINX:
        lines.insert(0, cluster.default_bash_preamble.rstrip())
    if not lines:
        return {}
    return {"srun_options": options, "preamble": "\n".join(["set -e", *lines, "set +e"])}


def mounts(step: Step, recipe: Recipe, cluster: Cluster, deployment: Deployment) -> dict[str, str]:
    """Host path to path in the container, `:ro` behind it where it is read-only.

    In this order, a later one in the place of an earlier one with the same path on either side: logs, model,
    the directory of the setup script, wheels of Dynamo; the cluster's; `extra_mount`; `container_mounts`.
    """
    known = _placeholders(recipe, deployment, step.image or "")
    found: dict[str, str] = {}
    for host, target in [
        *_built_in(step, recipe, deployment),
        *cluster.default_mounts.items(),
        *((host, target) for host, _, target in (text.partition(":") for text in recipe.extra_mount)),
        *recipe.container_mounts.items(),
    ]:
        host, target = fill(host, known), fill(target, known)
        same = [key for key, value in found.items() if key == host or _place(value) == _place(target)]
        for key in same:
            del found[key]
        found[host] = target
    return found


def _built_in(step: Step, recipe: Recipe, deployment: Deployment) -> Iterator[tuple[str, str]]:
    if deployment.log_mount:
        yield deployment.binding.logs, deployment.log_mount
    if deployment.model_mount:
        # Copies are on the workers' nodes alone.
        copied = step.kind == "worker" or deployment.model_source is None
        yield deployment.model_path if copied else deployment.model_source or "", deployment.model_mount
    if recipe.setup_script is not None:
        yield str(_setup_script(recipe.setup_script).parent), SETUP_MOUNT
    source = recipe.dynamo.source
    if source and source.wheel and deployment.transport == "dynamo" and recipe.dynamo.install:
        file = PurePath(source.wheel)
        yield str(file.parent) if file.suffix == ".whl" else WHEELS, f"{WHEEL_MOUNT}:ro"


def _place(target: str) -> str:
    return target.partition(":")[0].rstrip("/")


def _placeholders(recipe: Recipe, deployment: Deployment, image: str) -> Mapping[str, str]:
    return {
        "job_id": deployment.binding.job,
        "run_name": recipe.name,
        "head_node_ip": deployment.address(deployment.head),
        "log_dir": deployment.binding.logs,
        "model_path": deployment.model_path,
        "container_image": image,
        "gpus_per_node": str(deployment.gpus_per_node),
    }


def _setup_script(name: str) -> PurePath:
    """A bare name is a file of configs/, anything else a path from the project."""
    return PurePath(name) if "/" in name else PurePath(SETUP_DIRECTORY, name)


def setup_script_of(recipe: Recipe) -> str | None:
    """Path of the recipe's setup script from the project."""
    return str(_setup_script(recipe.setup_script)) if recipe.setup_script is not None else None


def dynamo_install(dynamo: DynamoSection, deployment: Deployment) -> str | None:
    """The shell command that installs the recipe's Dynamo; None where the image's own is used."""
    if deployment.transport != "dynamo" or not dynamo.install or dynamo.source is None:
        return None
    return f"{PIP} {' '.join(map(shlex.quote, _requirements(dynamo.source)))}"


def _requirements(source: DynamoSource) -> list[str]:
    """What pip is asked for; the runtime is a package of its own, in the repository too."""
    if source.pypi is not None:
        return [f"ai-dynamo=={source.pypi}"]
    if source.wheel is not None:
        file = PurePath(source.wheel)
        if file.suffix == ".whl":
            return [f"{WHEEL_MOUNT}/{file.name}"]
        return ["--find-links", WHEEL_MOUNT, f"ai-dynamo=={source.wheel}"]
    url = f"git+{source.git}@{source.sha or source.rev}"
    return [f"ai-dynamo-runtime @ {url}#subdirectory=lib/bindings/python", f"ai-dynamo @ {url}"]


def _once_a_node(commands: list[str], step: Step, deployment: Deployment) -> str:
    """The commands; of several tasks on a node, which share a container, the first one runs them."""
    if step.tasks == 1:
        return "\n".join(commands)
    mark = f'{deployment.binding.scratch}/setup_"$SLURM_STEP_ID"'
    done = "\n".join(f"  {command}" for command in commands)
    return (
        f"mkdir -p {deployment.binding.scratch}\n"
        f"exec 9>{mark}.lock\nflock 9\n"
        f"if [ ! -e {mark}.done ]; then\n{done}\n  : >{mark}.done\nfi\nexec 9>&-"
    )
