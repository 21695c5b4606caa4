"""Measures one point from the first prompt to the written result."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from servesweep.loadgen.board import Board
from servesweep.loadgen.dataset import build_schedule, identity
from servesweep.loadgen.errors import LoadgenError
from servesweep.loadgen.lag import LagReport
from servesweep.loadgen.pool import Pool
from servesweep.loadgen.prepare import write_job, write_phase
from servesweep.loadgen.processes import process_count
from servesweep.loadgen.progress import Progress
from servesweep.loadgen.record import RequestRecord
from servesweep.loadgen.result import (
    ClientFacts,
    PointResult,
    PromptFacts,
    RequestCounts,
    TokenCounts,
    write_result,
)
from servesweep.loadgen.saturation import assess
from servesweep.loadgen.slo import mark
from servesweep.loadgen.spec import LoadSpec
from servesweep.loadgen.statistics import Summary, summarise
from servesweep.loadgen.validity import failures, judge, judge_client

NOTEWORTHY_INPUT_SHARE = 0.02


def measure(spec: LoadSpec, output: Path) -> PointResult:
    """Send the load of `spec`, write the result (see `write_result`) and return it.

    Raises LoadgenError when it cannot be carried out at all; a server that fails is an invalid result. When
    it is interrupted by any exception no client process and no half-written file remains.
    """
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LoadgenError(f"cannot write to {output.parent}: {error.strerror}") from error
    processes = process_count(spec)
    with tempfile.TemporaryDirectory(prefix="loadgen-") as name:
        directory = Path(name)
        board = Board.create(directory / "board", processes)
        progress = Progress(output.with_name("progress.json"), spec.point, board)
        try:
            run = _Run(spec, directory, processes, board, progress)
            result, records = run.result()
        finally:
            progress.end()
            board.close()
    write_result(result, records, output)
    return result


class _Run:
    """The phases of one measurement, in their order."""

    def __init__(
        self, spec: LoadSpec, directory: Path, processes: int, board: Board, progress: Progress
    ) -> None:
        self._spec, self._processes, self._progress = spec, processes, progress
        self._notes: list[str] = []
        self._reports: list[LagReport] = []
        self._records: list[RequestRecord] = []
        self._dead = ""
        progress.start("prepare", spec.num_prompts)
        write_job(directory, spec, processes)
        write_phase(directory, spec, "warmup", build_schedule(spec, "warmup"))
        measured = build_schedule(spec, "measure")
        write_phase(directory, spec, "measure", measured)
        fingerprint, distinct = identity(measured.prompts)
        self._prompts = PromptFacts(
            source=str(spec.dataset_path or "random"),
            sha256=fingerprint,
            distinct=distinct,
            shared_prefix_ratio=spec.prefix_ratio,
        )
        with Pool(directory, processes, board) as pool:
            self._warm_up(pool)
            self._started = datetime.now(UTC)
            if not self._dead:
                progress.start("measure", spec.num_prompts)
                self._records, self._reports = pool.run_phase("measure", progress.tick)

    def _warm_up(self, pool: Pool) -> None:
        asked = self._spec.num_warmup
        if not asked:
            return
        self._progress.start("warmup", asked)
        records, _ = pool.run_phase("warmup", self._progress.tick)
        warm = summarise(self._spec, records)
        if warm.failed:
            words = f"{warm.failed} of {asked} warm-up requests failed: {failures(warm.errors)}"
            self._notes.append(words)
            self._dead = words if warm.failed == asked else ""

    def result(self) -> tuple[PointResult, list[RequestRecord]]:
        """The verdict and the numbers, with the records they come from."""
        spec = self._spec
        summary = summarise(spec, self._records)
        saturation = assess(self._reports, summary.metrics["median_itl_ms"])
        reasons = [*filter(None, [self._dead]), *judge(spec, summary), *judge_client(spec, saturation)]
        notes = (
            self._notes
            + count_notes(spec, summary)
            + prompt_notes(spec, self._prompts)
            + stream_notes(summary)
            + ([saturation.sentence] if saturation.sentence else [])
        )
        result = PointResult(
            configuration=spec.configuration,
            point=spec.point,
            digest=spec.digest,
            valid=not reasons,
            reasons=reasons,
            notes=notes,
            load=spec.model_dump(mode="json", exclude={"configuration", "point", "digest"}),
            model=spec.model,
            models_answered=summary.models,
            started_at=self._started.isoformat(timespec="milliseconds"),
            duration_s=summary.duration_s,
            requests=RequestCounts(
                asked=summary.asked,
                completed=summary.completed,
                failed=summary.failed,
                errors=summary.errors,
                error_examples=summary.error_examples,
            ),
            tokens=TokenCounts(input=summary.input_tokens, output=summary.output_tokens),
            metrics=summary.metrics,
            client=ClientFacts(
                processes=self._processes,
                max_in_flight=summary.max_in_flight,
                cpu_share_max=saturation.cpu_share_max,
                lag_ms_mean=saturation.lag_ms_mean,
                lag_ms_p99=saturation.lag_ms_p99,
                lag_ms_max=saturation.lag_ms_max,
                saturated=bool(saturation.sentence),
            ),
            prompts=self._prompts,
            slo=mark(spec.slo, summary.metrics),
        )
        return result, self._records


def stream_notes(summary: Summary) -> list[str]:
    """A sentence where answers of several tokens came in one piece: ITL then tells nothing."""
    if 2 * summary.one_piece <= summary.several or not summary.several:
        return []
    told = f"{summary.one_piece} of {summary.several} answers came in one piece"
    return [f"{told}: their TTFT is their E2E latency, and their ITL is 0."]


def prompt_notes(spec: LoadSpec, prompts: PromptFacts) -> list[str]:
    """A sentence where prompts recurred: a prefix cache answers the later ones sooner."""
    if prompts.distinct == spec.num_prompts:
        return []
    told = f"{spec.num_prompts} requests had {prompts.distinct} different prompts"
    return [f"{told}: those that came again may have been served from a prefix cache."]


def count_notes(spec: LoadSpec, summary: Summary) -> list[str]:
    """Sentences on how tokens were counted, where that is not plain."""
    notes = []
    if spec.tokenizer is None:
        notes.append("No tokenizer was given: prompt lengths are counted in words.")
    if summary.uncounted:
        told = f"The server told no usage for {summary.uncounted} of {summary.completed} answers"
        notes.append(f"{told}: each piece with content counts as one token there.")
    if summary.chunks != summary.output_tokens:
        notes.append(
            f"Output tokens are the server's usage: {summary.output_tokens} in {summary.chunks} chunks."
        )
    off = abs(summary.input_tokens - summary.asked_input_tokens)
    if off > NOTEWORTHY_INPUT_SHARE * summary.asked_input_tokens:
        notes.append(
            f"The server counted {summary.input_tokens} input tokens, {summary.asked_input_tokens} were sent."
        )
    return notes
