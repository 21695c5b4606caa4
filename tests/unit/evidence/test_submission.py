"""Failures that stand in the workflow engine's log alone.

The excerpts are of Snakemake 9.27.1 with its slurm plugin 2.8.0 on a Slurm 22.05 cluster; the words of the
`sbatch` call are shortened.
"""

import json
from pathlib import Path

import pytest

from servesweep.evidence.submission import record_submission_failures, submission_failures

REFUSED = """\
[Sun Nov 29 16:18:54 2026]
rule run:
    input: results/.validated/nope.json
    output: results/nope/run.json
    log: results/nope/run.log
    jobid: 5
    wildcards: configuration=nope
[Sun Nov 29 16:18:54 2026]
Error in rule run:
    message: SLURM sbatch failed. The error message was 'sbatch: error: invalid partition specified: nope
sbatch: error: Batch job submission failed: Invalid partition name specified'.
    sbatch call:
        sbatch --parsable --job-name d8fcd106 --comment rule_run_wildcards_nope  -p nope -t 5 --mem 64000 \
--wrap="python -m snakemake --target-jobs 'run:configuration=nope' --jobs 1 --mode 'remote'"
For further error details see the cluster/cloud log and the log files of the involved rule(s).
    jobid: 5
    input: results/.validated/nope.json
    output: results/nope/run.json
    log: results/nope/run.log (check log file(s) for error details)
    shell:
        servesweep run results/nope --launcher slurm --log results/nope/run.log
        (command exited with non-zero exit code)
Job 3 has been submitted with SLURM jobid 5 (log: .snakemake/slurm_logs/rule_run/killed/5.log).
Job 1 has been submitted with SLURM jobid 6 (log: .snakemake/slurm_logs/rule_run/big/6.log).
"""

CANCELLED = """\
[Sun Nov 29 16:18:57 2026]
Error in rule run:
    message: SLURM-job '5' failed, SLURM status is: 'CANCELLED'. Detailed failure reason unavailable \
(status command is not 'sacct').For further error details see the cluster/cloud log and the log files of \
the involved rule(s).
    jobid: 3
    input: results/.validated/killed.json
    output: results/killed/run.json
    log: results/killed/run.log, .snakemake/slurm_logs/rule_run/killed/5.log (check log file(s) for error details)
    shell:
        servesweep run results/killed --launcher slurm --log results/killed/run.log
        (command exited with non-zero exit code)
    external_jobid: 5
"""  # noqa: E501 - as it was printed

ENDED = """\
[Sun Nov 29 16:20:11 2026]
Error in rule run:
    jobid: 2
    output: results/local/run.json
    log: results/local/run.log (check log file(s) for error details)
    shell:
        servesweep run results/local --launcher local --log results/local/run.log
        (command exited with non-zero exit code)
"""

OTHER = """\
[Sun Nov 29 16:21:00 2026]
Error in rule lockfile:
    jobid: 9
    output: results/other/recipe.lock.yaml
[Sun Nov 29 16:21:01 2026]
rule run:
    output: results/later/run.json
"""

SENTENCES = {
    "results/nope": (
        "Slurm refused the submission: invalid partition specified: nope;"
        " Batch job submission failed: Invalid partition name specified"
    ),
    "results/killed": "Slurm job 5 ended as CANCELLED",
    "results/local": "the run ended without a record; see run.log",
}


@pytest.mark.parametrize(
    ("excerpt", "directory"),
    [(REFUSED, "results/nope"), (CANCELLED, "results/killed"), (ENDED, "results/local")],
)
def test_one_failure_is_one_sentence(excerpt: str, directory: str) -> None:
    assert submission_failures(excerpt) == {directory: SENTENCES[directory]}


def test_a_whole_log_in_any_order() -> None:
    assert submission_failures(REFUSED + CANCELLED + ENDED + OTHER) == SENTENCES
    assert submission_failures(OTHER + ENDED + CANCELLED + REFUSED) == SENTENCES
    assert submission_failures("\n".join([REFUSED, "", CANCELLED])).keys() == {
        "results/nope", "results/killed",
    }  # fmt: skip


def test_a_log_that_ends_in_the_middle_of_a_block_tells_what_it_can() -> None:
    cut = REFUSED[: REFUSED.index("    shell:")]
    assert submission_failures(cut) == {"results/nope": SENTENCES["results/nope"]}
    assert submission_failures(REFUSED[: REFUSED.index("    sbatch call:")]) == {}


def test_other_rules_and_good_runs_are_no_failures() -> None:
    assert submission_failures(OTHER) == {}
    assert submission_failures("") == {}


def test_what_slurm_refused_is_noted_where_the_run_left_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log").write_text(REFUSED + CANCELLED + ENDED)
    Path("results/nope").mkdir(parents=True)
    Path("results/killed").mkdir()
    Path("results/killed/failure.json").write_text('{"message": "decode_0 ended with code 1"}')
    assert record_submission_failures(Path("log")) == ["results/nope"]
    record = json.loads(Path("results/nope/failure.json").read_text())
    assert record | {"at": ""} == {
        "schema": 1,
        "configuration": "nope",
        "stage": "submission",
        "message": SENTENCES["results/nope"],
        "at": "",
    }
    assert "decode_0" in Path("results/killed/failure.json").read_text()
    assert not Path("results/local").exists()
    assert record_submission_failures(Path("log")) == []


def test_a_finished_run_is_not_called_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log").write_text(REFUSED)
    Path("results/nope").mkdir(parents=True)
    Path("results/nope/run.json").write_text("{}")
    assert record_submission_failures(Path("log")) == []


def test_a_missing_log_is_no_fault(tmp_path: Path) -> None:
    assert record_submission_failures(tmp_path / "no.log") == []


def test_a_lost_node_is_told_by_slurms_state() -> None:
    words = "failed due to a node failure, SLURM status is: 'NODE_FAIL'. Failed nodes will be excluded"
    lost = CANCELLED.replace("failed, SLURM status is: 'CANCELLED'. Detailed", f"{words}. Detailed")
    assert submission_failures(lost) == {"results/killed": "Slurm job 5 ended as NODE_FAIL"}


def test_one_full_disk_does_not_hide_the_other_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("nope", "killed"):
        Path("results", name).mkdir(parents=True)
    # A directory in its place refuses the file, as a full disk does.
    Path("results/nope/failure.json/x").mkdir(parents=True)
    log = tmp_path / "2026-11-29T161800.000000.snakemake.log"
    log.write_text(REFUSED + CANCELLED)
    monkeypatch.setattr("servesweep.evidence.submission._told_since", lambda *_: False)
    assert record_submission_failures(log) == ["results/killed"]
    assert capsys.readouterr().err.count("failure.json: Is a directory") == 1
