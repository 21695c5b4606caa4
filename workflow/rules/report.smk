rule selection:
    output:
        # A text of its own each time: Snakemake looks past a new time where the content is an old one.
        "results/.sweep/selection.txt",
    log:
        "results/.sweep/selection.log",
    localrule: True
    params:
        selection=table.selection,
    shell:
        'echo {params.selection:q} "$(date +%s%N)" > {output} 2> {log}'


rule summarize:
    input:
        table.lockfiles,
        # Lockfiles alone are no newer than the tables of another selection of recipes.
        rules.selection.output,
    output:
        page=report(
            "results/report.html",
            caption="../report/page.rst",
            category=sweep_category,
            labels={"what": "The report", "form": "page"},
        ),
        table=report(
            "results/summary.csv",
            caption="../report/table.rst",
            category=sweep_category,
            labels={"what": "Every point", "form": "table"},
        ),
        parquet="results/summary.parquet",
        pareto=report(
            "results/pareto.svg",
            caption="../report/pareto.rst",
            category="Figures",
            labels={
                "what": "Throughput per GPU against speed per user",
                "form": "SVG",
            },
        ),
        latency=report(
            "results/latency.svg",
            caption="../report/latency.rst",
            category="Figures",
            labels={"what": "Latency over load", "form": "SVG"},
        ),
        throughput=report(
            "results/throughput.svg",
            caption="../report/throughput.rst",
            category="Figures",
            labels={"what": "Throughput over load", "form": "SVG"},
        ),
        pictures=[
            "results/pareto.png",
            "results/latency.png",
            "results/throughput.png",
        ],
    log:
        "results/summarize.log",
    localrule: True
    params:
        cluster=table.cluster_file,
    shell:
        "servesweep report results --sweep results/sweep.json --cluster {params.cluster:q}"
        " 2>&1 | tee -p {log}"


# The same from whatever is there: `snakemake report`, also after failures.
rule report:
    log:
        "results/report.log",
    localrule: True
    params:
        cluster=table.cluster_file,
    shell:
        "servesweep report results --sweep results/sweep.json --cluster {params.cluster:q}"
        " 2>&1 | tee -p {log}"
