rule run:
    input:
        validation_of,
    output:
        "results/{configuration}/run.json",
    log:
        "results/{configuration}/run.log",
    priority: table.turn
    threads: session_threads
    resources:
        mpi="srun",
        nodes=table.resource("nodes"),
        tasks_per_node=table.resource("tasks_per_node"),
        cpus_per_task=table.resource("cpus_per_task"),
        mem_mb=table.resource("mem_mb"),
        runtime=table.resource("runtime"),
        slurm_account=table.resource("slurm_account"),
        slurm_partition=table.resource("slurm_partition"),
        slurm_extra=table.resource("slurm_extra"),
        constraint=table.resource("constraint"),
        qos=table.resource("qos"),
        gres=table.resource("gres"),
        gpu_quota=table.share_of_quota(),
    params:
        digest=table.digest,
        launcher=table.launcher,
    shell:
        "servesweep run results/{wildcards.configuration} --launcher {params.launcher} --log {log}"
