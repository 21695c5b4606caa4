from snakemake.utils import min_version

min_version("9.20")


configfile: "config/config.yaml"


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
        f"{RESULTS}/summary.csv",
        f"{RESULTS}/report.html",


onstart:
    begin(table)


onerror:
    shell("{SERVESWEEP} report {RESULTS} --sweep {RESULTS}/sweep.json --snakemake-log {log}")
