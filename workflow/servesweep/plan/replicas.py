"""Replicas (ADR-0001 of swiss-ai/model-launch): their router, and what stands around their engine."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from servesweep.engines.flags import kebab
from servesweep.plan.roles import Role
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.problems import Problem, RecipeError
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.variants import Variant
from servesweep.topology.deployment import Command, Deployment
from servesweep.topology.port_book import PortBook
from servesweep.topology.ports import OPENTELA
from servesweep.topology.shapes import ProcessPlace, WorkerPlace

LEFT_OUT = "router: sglang is left out: one replica has nothing to balance, and is served directly"


def frontend_of(recipe: Recipe, variant: Variant) -> tuple[FrontendSection, list[str]]:
    """The frontend of either spelling, with notes; replicas get a router only when there are several.

    Raises:
        RecipeError: for router_args that are no command line, or say something twice.
    """
    if recipe.replicas is None:
        return recipe.frontend or FrontendSection(), []
    if recipe.router == "sglang" and recipe.replicas == 1:
        return FrontendSection(type="direct"), [LEFT_OUT]
    if recipe.router == "sglang":
        try:
            return FrontendSection(type="sglang-router", args=arguments(recipe.router_args or "")), []
        except ValueError as error:
            raise RecipeError([variant.problem(("router_args",), str(error))]) from None
    return FrontendSection(type="direct" if recipe.replicas == 1 else "none"), []


def arguments(text: str) -> dict[str, Any]:
    """Read free-form arguments as a mapping: `--policy cache_aware --verbose` and `--retries=3`.

    Raises:
        ValueError: with one sentence, for an open quotation, a value without a name, or a name given twice.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"the text is no command line: {str(error).lower()}") from None
    found: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, equals, value = word.removeprefix("--").partition("=")
            earlier = next((one for one in found if kebab(one) == kebab(name)), None)
            if earlier is not None:
                same = "" if earlier == name else f"--{earlier} is the same one, so "
                raise ValueError(f"--{name} is given twice: {same}keep one")
            found[name] = [value] if equals else []
        elif found:
            found[name].append(word)
        else:
            raise ValueError(f"the text is no command line: {word!r} stands before any argument's name")
    return {name: values or True for name, values in found.items()}


def replica_problems(recipe: Recipe, cluster: Cluster, variant: Variant) -> list[Problem]:
    """What replicas ask and this cluster cannot give."""
    problems: list[Problem] = []
    if recipe.replicas is None:
        return problems
    if recipe.router == "opentela" and cluster.otela_binary is None:
        message = "OpenTela's program is unknown: name it in the cluster file, otela_binary"
        problems.append(variant.problem(("router",), message))
    elif recipe.router == "opentela" and cluster.launcher == "local" and recipe.replicas > 1:
        message = "every OpenTela wants the same ports of its host, so one machine carries one replica"
        problems.append(variant.problem(("router",), message))
    return problems


def reserve_opentela(book: PortBook, replicas: Iterable[WorkerPlace]) -> None:
    """Keep the ports of the OpenTela around each replica free of others, on the replica's head."""
    for replica in replicas:
        for port in OPENTELA:
            book.claim(replica.leader, port, f"OpenTela around replica {replica.index}")


def around(
    command: Command, role: Role, process: ProcessPlace, deployment: Deployment, cluster: Cluster
) -> Command:
    """A replica's command with OpenTela around its head, and the commands that go before."""
    argv = command.argv
    if role.opentela and process.is_leader and cluster.otela_binary is not None:
        argv = (*_opentela(cluster, role, process, deployment), "--subprocess", shlex.join(argv))
    if role.pre_launch:
        # The engine's words stay words: the script gets them as its arguments.
        script = "\n".join(["set -e", *role.pre_launch, 'exec "$0" "$@"'])
        argv = ("bash", "-c", script, *argv)
    return replace(command, argv=argv)


def _opentela(cluster: Cluster, role: Role, process: ProcessPlace, deployment: Deployment) -> tuple[str, ...]:
    bootstrap = ("--bootstrap.addr", cluster.otela_bootstrap) if cluster.otela_bootstrap else ()
    labels = {"framework": role.engine.name, "served_model_name": deployment.served_model}
    words = [word for name, value in labels.items() for word in ("--label", f"{name}={value}")]
    service = ("--service.name", "llm", "--service.port", str(process.http_port))
    return (str(cluster.otela_binary), "start", *bootstrap, *service, *words)
