from snakemake.utils import min_version

min_version("9.20")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/validation.smk"
include: "workflow/rules/submission.smk"
include: "workflow/rules/lockfile.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        # The tables alone would do for Snakemake: `onerror` writes them too, with half of the results.
        table.run_records,
        table.lockfiles,
        "results/summary.csv",
        "results/report.html",


onstart:
    begin(table, foreign_locks, workflow.dag_settings.targets)


onerror:
    shell(
        "servesweep report results --sweep results/sweep.json"
        " --cluster {table.cluster_file:q}"
    )
