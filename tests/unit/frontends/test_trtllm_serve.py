"""TensorRT-LLM's orchestrator, and the file by which it knows its servers."""

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan
from servesweep.recipe.problems import RecipeError

PD = "engine: trtllm\nroles: {prefill: {nodes: 1, workers: 2}, decode: {nodes: 2}}\n"


def test_it_reads_the_servers_from_a_file_once_they_are_ready(plan: Callable[..., Plan]) -> None:
    found = plan(
        PD + "frontend:\n"
        "  type: trtllm_serve\n"
        "  args: {server_start_timeout: 3600}\n"
        "  ctx_router: {type: round_robin}\n"
        "  gen_router: {type: kv_cache_aware, args: {max_batch_size: 4}}\n"
        "  server_config_extra: {max_retries: 2}\n"
    )
    step = found.steps[-1]
    assert step.command.argv == (
        "trtllm-serve",
        "disaggregated",
        "--config",
        "<LOGS>/ser.yaml",
        "--server_start_timeout",
        "3600",
    )
    assert step.command.files == {
        "<LOGS>/ser.yaml": (
            "context_servers:\n"
            "  num_instances: 2\n"
            "  urls:\n"
            "  - ip-n0:6100\n"
            "  - ip-n0:6132\n"
            "  router:\n"
            "    type: round_robin\n"
            "generation_servers:\n"
            "  num_instances: 1\n"
            "  urls:\n"
            "  - ip-n1:6100\n"
            "  router:\n"
            "    type: kv_cache_aware\n"
            "    args:\n"
            "      max_batch_size: 4\n"
            "hostname: 0.0.0.0\n"
            "port: 8000\n"
            "max_retries: 2\n"
        )
    }
    assert step.after_workers
    assert step.srun_options == {"mpi": "pmix"}
    assert found.public is not None
    assert (found.public.node, found.public.port) == ("n0", 8000)


def test_nothing_spreads_requests_over_several_servers(plan: Callable[..., Plan]) -> None:
    with pytest.raises(RecipeError, match="trtllm_serve serves exactly one agg worker, and the recipe has 2"):
        plan("engine: trtllm\nroles: {agg: {nodes: 2, workers: 2}}\nfrontend: {type: trtllm_serve}\n")


def test_other_engines_are_refused(plan: Callable[..., Plan]) -> None:
    with pytest.raises(RecipeError, match="serves the engines trtllm, and"):
        plan("engine: sglang\nroles: {agg: {nodes: 1}}\nfrontend: {type: trtllm_serve}\n")


@pytest.mark.parametrize("key", ["context_servers", "generation_servers", "hostname", "port"])
def test_keys_of_its_file_that_the_topology_decides_are_refused(plan: Callable[..., Plan], key: str) -> None:
    with pytest.raises(RecipeError, match=f"server_config_extra.{key}: servesweep writes this key from the"):
        plan(PD + f"frontend: {{type: trtllm_serve, server_config_extra: {{{key}: 1}}}}\n")
