rule health_gate:
    output:
        "health.json",
    log:
        "logs/health_gate.log",
    shell:
        "servesweep health-gate . --after-start > {log} 2>&1"
