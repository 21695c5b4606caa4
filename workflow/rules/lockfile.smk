rule lockfile:
    input:
        rules.run.output,
    output:
        "results/{configuration}/recipe.lock.yaml",
    log:
        "results/{configuration}/lockfile.log",
    localrule: True
    shell:
        "servesweep lockfile results/{wildcards.configuration} > {log} 2>&1"
