rule lockfile:
    input:
        rules.run.output,
    output:
        "results/{configuration}/recipe.lock.yaml",
    log:
        "results/{configuration}/lockfile.log",
    # Before the next run begins.
    priority: table.before_all_runs
    localrule: True
    shell:
        # The record may be seen before the results that it tells of.
        "servesweep lockfile results/{wildcards.configuration} --wait 60 > {log} 2>&1"
