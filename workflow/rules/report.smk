rule summarize:
    input:
        table.lockfiles,
    output:
        f"{RESULTS}/summary.csv",
        f"{RESULTS}/pareto.svg",
        f"{RESULTS}/pareto.png",
        f"{RESULTS}/report.html",
    log:
        f"{RESULTS}/summarize.log",
    localrule: True
    shell:
        "{SERVESWEEP} report {RESULTS} --sweep {RESULTS}/sweep.json 2>&1 | tee {log}"


# The same from whatever is there: `snakemake report`, also after failures.
rule report:
    log:
        f"{RESULTS}/report.log",
    localrule: True
    shell:
        "{SERVESWEEP} report {RESULTS} --sweep {RESULTS}/sweep.json 2>&1 | tee {log}"
