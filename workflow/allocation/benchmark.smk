rule benchmark:
    input:
        # Every allocation passes the gate anew; that makes no finished point older.
        ancient("health.json"),
    output:
        "points/{point}/result.json",
    log:
        "logs/benchmark_{point}.log",
    priority: earlier_points_first
    shell:
        "servesweep benchmark . --point {wildcards.point} > {log} 2>&1"
