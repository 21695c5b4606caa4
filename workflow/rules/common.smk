import sys

from servesweep.runtime.controller import begin, open_table

SERVESWEEP = f"{sys.executable} -m servesweep"
RESULTS = config.get("results", "results")

table = open_table(
    config,
    inside_job=not workflow.is_main_process,
    dry_run=workflow.output_settings.dryrun,
)


def session_threads(wildcards):
    """On one machine a run takes every core, so that no two configurations measure each other."""
    return workflow.cores if table.launcher == "local" else 1


wildcard_constraints:
    configuration=r"[A-Za-z0-9][A-Za-z0-9._+-]*",
    recipe=r"[A-Za-z0-9][A-Za-z0-9._+-]*",
