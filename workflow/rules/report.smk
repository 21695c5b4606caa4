rule summarize:
    input:
        table.lockfiles,
    output:
        "results/summary.csv",
        "results/pareto.svg",
        "results/pareto.png",
        "results/report.html",
    log:
        "results/summarize.log",
    localrule: True
    shell:
        "servesweep report results --sweep results/sweep.json 2>&1 | tee {log}"


# The same from whatever is there: `snakemake report`, also after failures.
rule report:
    log:
        "results/report.log",
    localrule: True
    shell:
        "servesweep report results --sweep results/sweep.json 2>&1 | tee {log}"
