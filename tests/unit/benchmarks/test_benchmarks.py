"""Options, points and client commands of every benchmark type."""

import json
import math
from typing import Any

import pytest

from servesweep.benchmarks import BENCHMARKS, BenchmarkContext
from servesweep.loadgen.spec import LoadSpec
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.section import Section
from servesweep.recipe.source import parse
from servesweep.recipe.validation import read_section
from servesweep.recipe.variants import expand
from servesweep.topology.deployment import Binding, Deployment
from servesweep.topology.shapes import Mode, ProcessPlace

NEEDED = {"sa-bench": "isl: 128, osl: 32, concurrencies: 4", "custom": "command: run it", "manual": ""}


def read(kind: str, written: str) -> Section:
    (variant,) = expand(parse(f"benchmark: {{{written}}}\n", "r.yaml"))
    return read_section(BENCHMARKS[kind].Options, variant.data["benchmark"], variant, ("benchmark",))


def options(kind: str, written: str = "") -> Section:
    """Options with what the type needs, where it is not written."""
    needed = ", ".join(part for part in NEEDED[kind].split(", ") if part.split(":")[0] + ":" not in written)
    return read(kind, ", ".join(part for part in (needed, written) if part))


RIGHT: list[tuple[str, str, str, Any]] = [
    ("sa-bench", "isl: 1024", "isl", 1024),
    ("sa-bench", "osl: 8", "osl", 8),
    ("sa-bench", "concurrencies: 8", "concurrencies", [8]),
    ("sa-bench", 'concurrencies: "8"', "concurrencies", [8]),
    ("sa-bench", "concurrencies: 1x4x16", "concurrencies", [1, 4, 16]),
    ("sa-bench", "concurrencies: [4, 1]", "concurrencies", [4, 1]),
    ("sa-bench", 'concurrencies: ["4", 1]', "concurrencies", [4, 1]),
    ("sa-bench", "req_rate: inf", "req_rate", [math.inf]),
    ("sa-bench", "req_rate: .inf", "req_rate", [math.inf]),
    ("sa-bench", "req_rate: 2", "req_rate", [2.0]),
    ("sa-bench", 'req_rate: [inf, "2.5", 4]', "req_rate", [math.inf, 2.5, 4.0]),
    ("sa-bench", "random_range_ratio: 1", "random_range_ratio", 1),
    ("sa-bench", "num_prompts_mult: 5", "num_prompts_mult", 5),
    ("sa-bench", "num_warmup_mult: 0", "num_warmup_mult", 0),
    ("sa-bench", "repeats: 3", "repeats", 3),
    ("sa-bench", "seed: 7", "seed", 7),
    ("sa-bench", "api: chat", "api", "chat"),
    ("sa-bench", "ignore_eos: false", "ignore_eos", False),
    ("sa-bench", "temperature: 0.7", "temperature", 0.7),
    ("sa-bench", "extra_body: {top_p: 0.9}", "extra_body", {"top_p": 0.9}),
    ("sa-bench", "request_timeout_s: 30", "request_timeout_s", 30),
    ("sa-bench", "max_failed_fraction: 0.01", "max_failed_fraction", 0.01),
    ("sa-bench", "custom_tokenizer: /tok", "custom_tokenizer", "/tok"),
    ("sa-bench", "client_processes: 2", "client_processes", 2),
    ("custom", "command: run it", "command", "run it"),
    ("custom", "env: {A: 1}", "env", {"A": "1"}),
    ("manual", "serve_seconds: 60", "serve_seconds", 60),
    ("manual", "", "serve_seconds", None),
]

LEVELS = "concurrencies: expected whole numbers from 1, as a list or as text like 1x2x4, got"
RATES = "req_rate: expected inf or requests per second above 0, got"

WRONG: list[tuple[str, str, str]] = [
    ("sa-bench", "isl: 0", "isl: expected a number from 1, got 0"),
    ("sa-bench", "osl: 1k", "osl: expected a whole number, got '1k'"),
    ("sa-bench", "concurrencies: 0", f"{LEVELS} 0"),
    ("sa-bench", "concurrencies: [1, two]", f"{LEVELS} 'two'"),
    ("sa-bench", "concurrencies: 1x-4", f"{LEVELS} '-4'"),
    ("sa-bench", "concurrencies: [1, 2.0]", f"{LEVELS} 2.0"),
    ("sa-bench", "concurrencies: [true]", f"{LEVELS} true"),
    ("sa-bench", "concurrencies: {a: 1}", f"{LEVELS} a mapping"),
    ("sa-bench", "concurrencies: []", "concurrencies: at least one concurrency is needed"),
    ("sa-bench", "concurrencies: ", "concurrencies: the key has no value: write one, or remove the key"),
    ("sa-bench", "req_rate: fast", f"{RATES} 'fast'"),
    ("sa-bench", "req_rate: 0", f"{RATES} 0"),
    ("sa-bench", "req_rate: [1, .nan]", f"{RATES} nan"),
    ("sa-bench", "req_rate: [true]", f"{RATES} true"),
    ("sa-bench", "req_rate: []", "req_rate: at least one request rate is needed"),
    ("sa-bench", "random_range_ratio: 1.5", "random_range_ratio: expected a number up to 1, got 1.5"),
    ("sa-bench", "num_prompts_mult: 0", "num_prompts_mult: expected a number from 1, got 0"),
    ("sa-bench", "num_warmup_mult: -1", "num_warmup_mult: expected a number from 0, got -1"),
    ("sa-bench", "repeats: 0", "repeats: expected a number from 1, got 0"),
    ("sa-bench", "seed: -1", "seed: expected a number from 0, got -1"),
    ("sa-bench", "api: completion",
     "api: expected completions or chat, got 'completion'; did you mean completions?"),
    ("sa-bench", "ignore_eos: no", "ignore_eos: expected true or false, got 'no'"),
    ("sa-bench", "temperature: hot", "temperature: expected a number, got 'hot'"),
    ("sa-bench", "extra_body: {model: x, stream: true}",
     "extra_body: the client sets model and stream in each request: remove it"),
    ("sa-bench", "request_timeout_s: 0", "request_timeout_s: expected a number above 0, got 0"),
    ("sa-bench", "max_failed_fraction: 1", "max_failed_fraction: expected a number below 1, got 1"),
    ("sa-bench", "custom_tokenizer: 8",
     'custom_tokenizer: expected text, got the number 8: write it in quotes, "8"'),
    ("sa-bench", "client_processes: 0", "client_processes: expected a number from 1, got 0"),
    ("sa-bench", "concurrency: 4", "concurrency: unknown key; did you mean concurrencies?"),
    ("custom", 'command: ""', "command: the text is empty"),
    ("custom", "env: {A: true}",
     'env.A: programs read true and false in many spellings: write the text meant, as "1"'),
    ("manual", "serve_seconds: 0", "serve_seconds: expected a number above 0, got 0"),
    ("manual", "isl: 8", "isl: unknown key; known here: serve_seconds"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "written", "name", "meant"), RIGHT)
def test_an_option_is_read(kind: str, written: str, name: str, meant: Any) -> None:
    assert getattr(options(kind, written), name) == meant


@pytest.mark.parametrize(("kind", "written", "sentence"), WRONG)
def test_a_fault_is_one_line(kind: str, written: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as caught:
        options(kind, written)
    assert str(caught.value) == f"r.yaml:1: benchmark.{sentence}"


@pytest.mark.parametrize("kind", BENCHMARKS)
def test_the_tables_above_name_every_option(kind: str) -> None:
    fields = set(BENCHMARKS[kind].Options.model_fields)
    assert fields == {row[2] for row in RIGHT if row[0] == kind}
    assert fields <= {row[2].partition(":")[0].partition(".")[0] for row in WRONG if row[0] == kind}


def test_what_is_needed_is_asked_for() -> None:
    with pytest.raises(RecipeError) as caught:
        read("sa-bench", "")
    assert [problem.key for problem in caught.value.problems] == [
        "benchmark.isl", "benchmark.osl", "benchmark.concurrencies",
    ]  # fmt: skip
    with pytest.raises(RecipeError, match=r"benchmark\.command: required key is missing"):
        read("custom", "")


def place(mode: Mode, index: int, rank: int, node: str, port: int | None) -> ProcessPlace:
    return ProcessPlace(mode, index, rank, node, tuple(range(8)), (node,), 7500, 5400, 17500, 20000, port)


DEPLOYMENT = Deployment(
    model_path="/models/llama",
    served_model="llama",
    transport="http",
    gpus_per_node=8,
    processes=(
        place("prefill", 0, 0, "n0", 6100),
        place("decode", 0, 0, "n1", 6100),
        place("decode", 0, 1, "n2", None),
        place("decode", 1, 0, "n3", 6100),
    ),
    head="n0",
    frontend="n0",
    infra="n0",
    public_port=8000,
    binding=Binding(addresses={f"n{number}": f"10.0.0.{number}" for number in range(4)}),
)
CONTEXT = BenchmarkContext(
    configuration="demo",
    digest="0123456789abcdef",
    url="http://10.0.0.0:8000",
    deployment=DEPLOYMENT,
    tokenizer="/models/llama",
    directory="/results/demo/points/c4",
    output="/results/demo/points/c4/result.json",
    environment={"HF_HUB_OFFLINE": "1"},
)


def test_points_of_sa_bench() -> None:
    chosen = options("sa-bench", "concurrencies: 1x4, req_rate: [inf, 0.5], repeats: 2")
    assert [load.id for load in BENCHMARKS["sa-bench"].loads(chosen)] == [
        "c1", "c4", "c1-r0.5", "c4-r0.5", "c1-k1", "c4-k1", "c1-r0.5-k1", "c4-r0.5-k1",
    ]  # fmt: skip


def test_close_rates_are_points_of_their_own() -> None:
    chosen = options("sa-bench", "req_rate: [1.0000001, 1.0000002]")
    assert [load.id for load in BENCHMARKS["sa-bench"].loads(chosen)] == ["c4-r1.0000001", "c4-r1.0000002"]


def test_the_client_of_a_point_gets_its_whole_load_in_a_file() -> None:
    chosen = options(
        "sa-bench", "req_rate: 2.5, num_prompts_mult: 5, num_warmup_mult: 1, seed: 3, client_processes: 2"
    )
    (load,) = BENCHMARKS["sa-bench"].loads(chosen)
    command = BENCHMARKS["sa-bench"].command(load, chosen, CONTEXT)
    assert " ".join(command.argv) == (
        "python3 -m servesweep.loadgen /results/demo/points/c4/load.json"
        " --output /results/demo/points/c4/result.json"
    )
    assert command.env == {"HF_HUB_OFFLINE": "1"}
    ((file, text),) = command.files.items()
    assert file == "/results/demo/points/c4/load.json"
    assert LoadSpec.model_validate_json(text) == LoadSpec.model_validate(
        {
            "configuration": "demo",
            "point": "c4-r2.5",
            "digest": "0123456789abcdef",
            "url": "http://10.0.0.0:8000",
            "model": "llama",
            "tokenizer": "/models/llama",
            "isl": 128,
            "osl": 32,
            "concurrency": 4,
            "request_rate": 2.5,
            "num_prompts": 20,
            "num_warmup": 4,
            "seed": 3,
            "processes": 2,
            "total_gpus": 32,
            "prefill_gpus": 8,
            "decode_gpus": 24,
        }
    )


def test_a_tokenizer_of_its_own_wins_over_the_models() -> None:
    chosen = options("sa-bench", "custom_tokenizer: /tok")
    (load,) = BENCHMARKS["sa-bench"].loads(chosen)
    (text,) = BENCHMARKS["sa-bench"].command(load, chosen, CONTEXT).files.values()
    assert json.loads(text)["tokenizer"] == "/tok"
    assert json.loads(text)["request_rate"] == "inf"


def test_a_custom_command_finds_the_deployment_in_its_environment() -> None:
    chosen = options("custom", "env: {MINE: 1, SERVESWEEP_MODEL: other}")
    (load,) = BENCHMARKS["custom"].loads(chosen)
    command = BENCHMARKS["custom"].command(load, chosen, CONTEXT)
    assert command.argv == (
        "python3", "-m", "servesweep.loadgen.custom", "/results/demo/points/c4/custom.json",
        "--output", "/results/demo/points/c4/result.json",
    )  # fmt: skip
    assert command.env == {
        "HF_HUB_OFFLINE": "1",
        "SRT_FRONTEND_HOST": "10.0.0.0",
        "SRT_FRONTEND_PORT": "8000",
        "SRT_PREFILL_IPS": "10.0.0.0",
        "SRT_PREFILL_ENDPOINTS": "http://10.0.0.0:6100",
        "SRT_DECODE_IPS": "10.0.0.1,10.0.0.3",
        "SRT_DECODE_ENDPOINTS": "http://10.0.0.1:6100,http://10.0.0.3:6100",
        "SRT_GPUS_PER_NODE": "8",
        "SERVESWEEP_MODEL": "other",
        "MINE": "1",
    }
    assert json.loads(command.files["/results/demo/points/c4/custom.json"]) == {
        "configuration": "demo",
        "point": "custom",
        "digest": "0123456789abcdef",
        "model": "llama",
        "command": "run it",
    }


def test_nothing_public_gives_no_frontend_in_the_environment() -> None:
    chosen = options("custom")
    (load,) = BENCHMARKS["custom"].loads(chosen)
    command = BENCHMARKS["custom"].command(load, chosen, CONTEXT.model_copy(update={"url": None}))
    assert not any(name.startswith("SRT_FRONTEND") for name in command.env)


@pytest.mark.parametrize(
    ("written", "command"), [("serve_seconds: 2.5", "exec sleep 2.5"), ("", "exec sleep infinity")]
)
def test_manual_only_waits(written: str, command: str) -> None:
    chosen = options("manual", written)
    (load,) = BENCHMARKS["manual"].loads(chosen)
    (text,) = BENCHMARKS["manual"].command(load, chosen, CONTEXT).files.values()
    assert (load.id, json.loads(text)["command"]) == ("manual", command)
