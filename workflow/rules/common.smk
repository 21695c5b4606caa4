import sys
from pathlib import Path
from shlex import quote

from servesweep.evidence.files import RunFiles
from servesweep.evidence.points import is_finished
from servesweep.plan.table import RESULTS, Table
from servesweep.runtime.process_end import end_at_once

# This installation's own programs, also where its environment is not activated. A prefix replaces
# Snakemake's own strict mode, so it says it again.
shell.prefix(
    f"set -euo pipefail; export PATH={quote(str(Path(sys.executable).parent))}:$PATH; "
)

end_at_once()

# Each job reads this file again, and has no need of what the sweep is made of.
if workflow.is_main_process:
    from servesweep.runtime.controller import begin, locks_beside, open_table
    from servesweep.runtime.executor_answers import answer_the_executor
    from servesweep.runtime.listening import listen
    from servesweep.runtime.own_report import refuse_other_tables

    # A resource of the whole sweep, set by the profile or by --resources.
    gpu_quota = workflow.global_resources.get("gpu_quota")
    table = open_table(
        config,
        dry_run=workflow.output_settings.dryrun,
        gpu_quota=gpu_quota and gpu_quota.value,
    )
    answer_the_executor(table.plans.values(), Path(".snakemake"))
    quiet = any(part.name == "ALL" for part in workflow.output_settings.quiet or ())
    listen(logger, table.plans.values(), quiet)
    # As they are before Snakemake takes its own.
    foreign_locks = locks_beside()
else:
    table = Table(config["cluster"])


def session_threads(wildcards):
    """On one machine a run takes every core, so that no two configurations measure each other."""
    return workflow.cores if table.launcher(wildcards) == "local" else 1


def validation_of(wildcards):
    """A recipe validated again runs what is not finished, and nothing else of its configurations.

    Snakemake looks for no further reason in a job behind one that runs. An ancient input alone would hide
    from it that a value has changed.
    """
    record, files = table.record(wildcards), RunFiles(RESULTS / wildcards.configuration)
    finished = is_finished(files, table.plan(wildcards.configuration))
    return ancient(record) if finished else record


def sweep_category(wildcards):
    """Snakemake asks for it when it makes its own report, and never whether the tables are up to date."""
    refuse_other_tables(table.plans)
    return "Sweep"


wildcard_constraints:
    configuration=r"[A-Za-z0-9][A-Za-z0-9._+-]*",
    recipe=r"[A-Za-z0-9][A-Za-z0-9._+-]*",
