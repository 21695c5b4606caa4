rule validate:
    input:
        recipe=table.recipe_file,
        cluster=table.cluster_file,
    output:
        record=f"{RESULTS}/.validated/{{recipe}}.json",
    log:
        f"{RESULTS}/.validated/{{recipe}}.log",
    params:
        digests=table.digests,
        recipes=table.recipe_words,
        settings=[f"--set={assignment}" for assignment in table.settings],
    localrule: True
    shell:
        "{SERVESWEEP} validate {params.recipes:q} {params.settings:q} --cluster {input.cluster:q}"
        " --results {RESULTS} --record {output.record} 2>&1 | tee {log} >&2"


rule plan:
    input:
        table.records,
    log:
        f"{RESULTS}/plan.log",
    localrule: True
    shell:
        "{SERVESWEEP} plan {RESULTS} --sweep {RESULTS}/sweep.json 2>&1 | tee {log}"
