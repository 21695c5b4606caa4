rule lockfile:
    input:
        rules.run.output,
    output:
        f"{RESULTS}/{{configuration}}/recipe.lock.yaml",
    log:
        f"{RESULTS}/{{configuration}}/lockfile.log",
    localrule: True
    shell:
        "{SERVESWEEP} lockfile {RESULTS}/{wildcards.configuration} > {log} 2>&1"
