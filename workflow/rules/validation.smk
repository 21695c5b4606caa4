rule validate:
    input:
        # A comment, a moved key change no digest: they validate nothing again.
        recipe=ancient(table.recipe_file),
        cluster=ancient(table.cluster_file),
    output:
        record="results/.validated/{recipe}.json",
    log:
        "results/.validated/{recipe}.log",
    priority: table.turn_of_recipe
    localrule: True
    params:
        digests=table.digests,
        recipes=table.recipe_words,
        settings=table.setting_words,
    shell:
        "servesweep validate {params.recipes:q} {params.settings:q} --cluster {input.cluster:q}"
        # The notes were told when the sweep began.
        " --results results --record {output.record} > {log} 2>&1"
        " || {{ cat {log} >&2; exit 1; }}; tail -n 1 {log} >&2 || true"


rule plan:
    input:
        table.records,
    log:
        "results/plan.log",
    localrule: True
    shell:
        "servesweep plan results --sweep results/sweep.json 2>&1 | tee -p {log}"
