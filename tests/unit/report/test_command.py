"""`servesweep export`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from servesweep.report.command import export

PUBLIC = Path(__file__).with_name("public")


def run(*words):
    done = CliRunner().invoke(export, [str(word) for word in words])
    return done.exit_code, done.stdout, done.stderr


def test_a_disaggregated_configuration_in_the_form_of_inferencex(tree):
    argv = "python3 -m dynamo.sglang --tp-size 8 --dp-size 8 --ep-size 8 --enable-dp-attention"
    steps = [
        {"mode": "prefill", "command": {"argv": ["python3", "-m", "dynamo.sglang", "--tp-size", "8"]}},
        {"mode": "decode", "command": {"argv": [*argv.split(), "--speculative-algorithm", "EAGLE"]}},
    ]
    model = {"precision": "fp8", "container": "registry/sglang:1"}
    tree.plan(
        "a", {"c16": 16, "c4": 4}, steps=steps, resolved={"model": model}, served_model="org/Tiny-Model"
    )
    tree.invalid("a", "c4", "no")
    measured = {
        **{"output_throughput_tok_s": 320.0, "total_throughput_tok_s": 2880.0},
        **{"median_ttft_ms": 250.0, "median_tpot_ms": 8.0, "std_tpot_ms": 0.5},
    }
    tree.result("a", "c16", measured)
    code, out, _ = run(tree.root, "--format", "inferencex")
    assert code == 0
    assert json.loads(out) == [
        {
            **{"hw": "h100", "conc": 16, "image": "registry/sglang:1", "model": "org/Tiny-Model"},
            **{"infmax_model_prefix": "tiny-model", "framework": "simulator", "precision": "fp8"},
            **{"spec_decoding": "eagle", "disagg": True, "isl": 1024, "osl": 128, "is_multinode": True},
            **{"prefill_tp": 8, "prefill_pp": 1, "prefill_ep": 1, "prefill_dp_attention": "false"},
            **{"prefill_num_workers": 1, "num_prefill_gpu": 8},
            **{"decode_tp": 8, "decode_pp": 1, "decode_ep": 8, "decode_dp_attention": "true"},
            **{"decode_num_workers": 1, "num_decode_gpu": 8},
            **{"tput_per_gpu": 180.0, "output_tput_per_gpu": 40.0, "input_tput_per_gpu": 320.0},
            **{"median_ttft": 0.25, "median_tpot": 0.008, "median_intvty": 125.0, "std_tpot": 0.0005},
            **{"recipe_fingerprint": "D-a", "configuration": "a", "repeat": 0},
        }
    ]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_of_others_become_one_of_our_tables(tmp_path, form):
    code, out, _ = run(PUBLIC, "--format", form, "--output", tmp_path / f"table.{form}")
    assert (code, out) == (0, "")
    again = run(tmp_path / f"table.{form}", "--format", "csv")[1]
    assert [line.split(",")[0] for line in again.splitlines()[1:]] == [
        *("h100-vllm-fp4-tp4-ep1", "b200-vllm-fp4-tp2-ep1", "vllm_bench"),
    ]
    assert list(tmp_path.iterdir()) == [tmp_path / f"table.{form}"]


@pytest.mark.parametrize("form", ["inferencex", "csv"])
def test_where_no_results_are_a_sentence_says_so(tmp_path, form):
    code, out, told = run(tmp_path, "--format", form)
    assert (code, out) == (1, "")
    assert str(tmp_path) in told
