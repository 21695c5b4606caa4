"""`post_eval`: the recipe's own command on the running deployment after the load, as a last point."""

from __future__ import annotations

import shlex

from servesweep.benchmarks.benchmark import BenchmarkContext, Load
from servesweep.benchmarks.custom import Custom, CustomOptions
from servesweep.recipe.after_run import PostEvalSection
from servesweep.topology.deployment import Command

POINT = "post-eval"


def post_eval_load(section: PostEvalSection) -> Load:
    """The point; its id is no load level's."""
    return Load(id=POINT, facts={"command": list(section.command)})


def post_eval_command(section: PostEvalSection, context: BenchmarkContext) -> Command:
    """The command like one of the type `custom`, once every variable that it asks for is there."""
    told = "post_eval.passthrough_env names it, and it is not set"
    asked = [f': "${{{name}?{told}}}"' for name in section.passthrough_env]
    line = "; ".join([*asked, f"exec {shlex.join(section.command)}"])
    return Custom().command(post_eval_load(section), CustomOptions(command=line), context)
