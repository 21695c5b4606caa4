rule run:
    input:
        validation_of,
    output:
        "results/{configuration}/run.json",
    log:
        "results/{configuration}/run.log",
    threads: session_threads
    resources:
        mpi="srun",
        nodes=table.request("nodes"),
        tasks_per_node=table.request("tasks_per_node"),
        cpus_per_task=table.request("cpus_per_task"),
        mem_mb=table.request("mem_mb"),
        runtime=table.request("runtime"),
        slurm_account=table.request("slurm_account"),
        slurm_partition=table.request("slurm_partition"),
        slurm_extra=table.request("slurm_extra"),
        constraint=table.request("constraint"),
        qos=table.request("qos"),
        gres=table.request("gres"),
    params:
        digest=table.digest,
        launcher=table.launcher,
    shell:
        "servesweep run results/{wildcards.configuration} --launcher {params.launcher} --log {log}"
