"""Every key of the cluster file."""

from pathlib import Path
from typing import Any

import pytest

from servesweep.plan.cluster_file import read_cluster
from servesweep.recipe.after_run import ReportingSection
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.health_check import HealthCheckSection
from servesweep.recipe.host_setup import HostSetupSection
from servesweep.recipe.problems import RecipeError

RIGHT: list[tuple[str, str, Any]] = [
    ("cluster", "lab", "lab"),
    ("launcher", "local", "local"),
    ("container_runtime", "none", "none"),
    ("default_account", "lab", "lab"),
    ("default_partition", "batch", "batch"),
    ("default_time_limit", "00:30:00", 30),
    ("default_gpu_type", "h100", "h100"),
    ("gpus_per_node", "4", 4),
    ("cpus_per_gpu", "12", 12),
    ("mem_mb_per_node", "512000", 512000),
    ("use_gpus_per_node_directive", "false", False),
    ("use_exclusive_sbatch_directive", "true", True),
    ("visible_devices_env", "ROCR_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    ("model_paths", "{tiny: models/tiny}", {"tiny": "models/tiny"}),
    ("environment", "{NCCL_DEBUG: INFO, N: 1}", {"NCCL_DEBUG": "INFO", "N": "1"}),
    ("srun_options", '{mpi: pmix, overcommit: ""}', {"mpi": "pmix", "overcommit": ""}),
    ("container_runtime", "pyxis", "pyxis"),
    ("use_segment_sbatch_directive", "true", True),
    ("use_het_jobs", "true", True),
    ("default_sbatch_directives", "{qos: high}", {"qos": "high"}),
    ("default_health_check", "{max_attempts: 360}", HealthCheckSection(max_attempts=360)),
    ("default_host_setup", "{commands: [a]}", HostSetupSection(commands=("a",))),
    ("nginx_raise_ulimit", "true", True),
    ("containers", "{sglang: /images/sglang.sqsh}", {"sglang": "/images/sglang.sqsh"}),
    ("default_mounts", "{/lustre: /lustre}", {"/lustre": "/lustre"}),
    ("default_bash_preamble", "ulimit -n 65536", "ulimit -n 65536"),
    ("preflight", "false", False),
    ("gpu_hour_price", "{h100: 2.5}", {"h100": 2.5}),
    ("otela_binary", "/opt/otela", "/opt/otela"),
    ("otela_bootstrap", "/ip4/10.0.0.1/tcp/43905", "/ip4/10.0.0.1/tcp/43905"),
    ("network_interface", "eth0", "eth0"),
    ("output_dir", "/outputs", "/outputs"),
    ("srtctl_root", "/opt/srtctl", "/opt/srtctl"),
    ("cloud", "{bucket: b}", {"bucket": "b"}),
    ("reporting", "{s3: {bucket: b}}", ReportingSection(s3={"bucket": "b"})),
    ("telemetry", "{port: 9401}", {"port": 9401}),
    ("default_gpu_exporter", "dcgm", "dcgm"),
    ("git_http_version", "HTTP/1.1", "HTTP/1.1"),
    ("docker_args", "[--gpus, all]", ("--gpus", "all")),
]

WRONG: list[tuple[str, str, str]] = [
    ("cluster", "[lab]", "cluster: expected text, got a list"),
    ("launcher", "slrum", "launcher: expected local or slurm, got 'slrum'; did you mean slurm?"),
    ("container_runtime", "docker", "container_runtime: expected none or pyxis, got 'docker'"),
    ("default_account", "7", 'default_account: expected text, got the number 7: write it in quotes, "7"'),
    ("default_partition", "", "default_partition: the key has no value: write one, or remove the key"),
    ("default_time_limit", "0",
     "default_time_limit: '0' leaves no time: a time limit is at least one minute"),
    ("default_gpu_type", "true", "default_gpu_type: expected text, got true"),
    ("gpus_per_node", "0", "gpus_per_node: expected a number from 1, got 0"),
    ("cpus_per_gpu", "many", "cpus_per_gpu: expected a whole number, got 'many'"),
    ("mem_mb_per_node", "512G", "mem_mb_per_node: expected a whole number, got '512G'"),
    ("use_gpus_per_node_directive", "no", "use_gpus_per_node_directive: expected true or false, got 'no'"),
    ("use_exclusive_sbatch_directive", "1", "use_exclusive_sbatch_directive: expected true or false, got 1"),
    ("visible_devices_env", "A=B", "visible_devices_env: 'A=B' is no name of an environment variable:"
     " letters, digits and _, no digit first"),
    ("default_bash_preamble", '"a\\0b"',
     "default_bash_preamble: no command line and no variable can carry the character '\\x00': remove it"),
    ("gpu_hour_price", "{h100: 0}", "gpu_hour_price.h100: expected a number above 0, got 0"),
    ("model_paths", "[a]", "model_paths: expected a mapping, got a list"),
    ("model_paths", "{tiny: 3}",
     'model_paths.tiny: expected text, got the number 3: write it in quotes, "3"'),
    ("environment", "{A: false}",
     'environment.A: programs read true and false in many spellings: write the text meant, "false" or "0"'),
    ("srun_options", "{mpi: }", 'srun_options.mpi: write "" for a flag without a value'),
    ("defualt_partition", "batch", "defualt_partition: unknown key; did you mean default_partition?"),
]  # fmt: skip


def read(tmp_path: Path, text: str) -> Cluster:
    (tmp_path / "cluster.yaml").write_text(text)
    return read_cluster(str(tmp_path / "cluster.yaml"))


def complaint(tmp_path: Path, text: str) -> str:
    with pytest.raises(RecipeError) as caught:
        read(tmp_path, text)
    return str(caught.value).removeprefix(f"{tmp_path}/")


@pytest.mark.parametrize(("key", "written", "meant"), RIGHT)
def test_a_key_is_read(tmp_path: Path, key: str, written: str, meant: Any) -> None:
    assert getattr(read(tmp_path, f"# a site\n{key}: {written}\n"), key) == meant


@pytest.mark.parametrize(("key", "written", "sentence"), WRONG)
def test_a_fault_is_one_line(tmp_path: Path, key: str, written: str, sentence: str) -> None:
    assert complaint(tmp_path, f"# a site\n{key}: {written}\n") == f"cluster.yaml:2: {sentence}"


@pytest.mark.parametrize("key", list(Cluster.model_fields))
def test_the_tables_above_name_every_key(key: str) -> None:
    assert key in {row[0] for row in RIGHT}


@pytest.mark.parametrize("key", list(Cluster.model_fields))
def test_a_list_of_lists_is_no_value_of_any_key(tmp_path: Path, key: str) -> None:
    assert complaint(tmp_path, f"# a site\n{key}: [[1]]\n").startswith(f"cluster.yaml:2: {key}")


def test_a_missing_file_and_an_empty_one_are_told(tmp_path: Path) -> None:
    assert complaint(tmp_path, "") == "cluster.yaml: the file is empty"
    with pytest.raises(RecipeError, match=r"nowhere\.yaml: there is no such file"):
        read_cluster("nowhere.yaml")
