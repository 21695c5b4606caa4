"""Accuracy by EleutherAI's lm-eval (an extra): questions with known answers, asked of the deployment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load
from servesweep.benchmarks.client_load import repeats_of
from servesweep.benchmarks.shared_options import OF_AIPERF, SharedOptions
from servesweep.recipe.limits import A_WEEK, MOST_IN_FLIGHT, MOST_POINTS, MOST_REQUESTS, MOST_TOKENS
from servesweep.recipe.section import Section, fault
from servesweep.recipe.texts import Line
from servesweep.topology.deployment import Command

MOST_FILES = 200


class EvaluationOptions(SharedOptions):
    """Which questions are asked, how many at once, and from which files."""

    task_file: Line | None = Field(
        default=None,
        description="YAML file of a task of your own (lm-eval's form), its data beside it; default: "
        "lm-eval's task, whose data comes from the Hugging Face hub or its cache.",
    )
    api: Literal["chat", "completions"] = Field(
        default="chat", description="OpenAI endpoint that is asked; likelihoods need completions."
    )
    num_examples: int | None = Field(
        default=None, ge=1, le=MOST_REQUESTS, description="Questions of each task; default: all of them."
    )
    max_tokens: int | None = Field(
        default=None, ge=1, le=MOST_TOKENS, description="Longest answer, tokens; default: the task's."
    )
    num_threads: int = Field(default=16, ge=1, le=MOST_IN_FLIGHT, description="Questions in flight.")
    num_shots: int | None = Field(
        default=None, ge=0, le=1000, description="Examples in each prompt; default: the task's."
    )
    repeat: int = Field(
        default=1, ge=1, le=MOST_POINTS, description="How many times the set is asked, each one a point."
    )
    temperature: float | None = Field(default=None, ge=0, description="Sampling temperature.")
    top_p: float | None = Field(default=None, gt=0, le=1, description="Nucleus sampling.")
    top_k: int | None = Field(default=None, description="Sampling among the k likeliest tokens.")
    request_timeout_s: float = Field(
        default=3600.0, gt=0, le=A_WEEK, description="A longer answer has failed, seconds."
    )

    def tasks(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """Names of lm-eval's tasks; none where a file has its own."""
        return () if self.task_file else usual


class Gsm8kOptions(EvaluationOptions):
    """School mathematics, 1,319 questions."""

    num_examples: int | None = Field(default=1319, ge=1, le=MOST_REQUESTS, description="Questions.")
    max_tokens: int | None = Field(default=16384, ge=1, le=MOST_TOKENS, description="Longest answer, tokens.")
    num_threads: int = Field(default=512, ge=1, le=MOST_IN_FLIGHT, description="Questions in flight.")
    num_shots: int | None = Field(default=5, ge=0, le=1000, description="Examples in each prompt.")


class GpqaOptions(EvaluationOptions):
    """Questions that only experts answer, 198 of the diamond set."""

    num_examples: int | None = Field(default=198, ge=1, le=MOST_REQUESTS, description="Questions.")
    max_tokens: int | None = Field(default=32768, ge=1, le=MOST_TOKENS, description="Longest answer, tokens.")
    num_threads: int = Field(default=128, ge=1, le=MOST_IN_FLIGHT, description="Questions in flight.")
    repeat: int = Field(
        default=8, ge=1, le=MOST_POINTS, description="How many times the set is asked, each one a point."
    )


class MmluOptions(EvaluationOptions):
    """Questions of 57 subjects."""

    num_examples: int | None = Field(
        default=200, ge=1, le=MOST_REQUESTS, description="Questions of each subject."
    )
    max_tokens: int | None = Field(default=2048, ge=1, le=MOST_TOKENS, description="Longest answer, tokens.")
    num_threads: int = Field(default=512, ge=1, le=MOST_IN_FLIGHT, description="Questions in flight.")
    repeat: int = Field(
        default=8, ge=1, le=MOST_POINTS, description="How many times the set is asked, each one a point."
    )


class LongBenchOptions(EvaluationOptions):
    """Questions over long texts, judged by the likelihood of each choice."""

    api: Literal["chat", "completions"] = Field(
        default="completions", description="OpenAI endpoint that is asked; likelihoods need completions."
    )
    max_context_length: int = Field(
        default=128000, ge=1, le=MOST_TOKENS, description="Longest text, tokens; longer ones are cut."
    )
    max_tokens: int | None = Field(default=16384, ge=1, le=MOST_TOKENS, description="Longest answer, tokens.")
    categories: tuple[str, ...] = Field(
        default=(), strict=False, description="Tasks of the set, such as longbench2_table; default: all."
    )

    def tasks(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """The wanted categories."""
        return () if self.task_file else self.categories or usual


class LmEvalOptions(EvaluationOptions):
    """Any task of lm-eval, or of your own."""

    task: Line | None = Field(default=None, description="lm-eval's task or group, such as arc_easy.")

    @model_validator(mode="after")
    def _one_task(self) -> LmEvalOptions:
        if (self.task is None) == (self.task_file is None):
            raise fault("name one of task and task_file", "task")
        return self

    def tasks(self, usual: tuple[str, ...]) -> tuple[str, ...]:
        """The named task."""
        return (self.task,) if self.task else ()


class Evaluation(Benchmark):
    """One point for each time the questions are asked."""

    client: ClassVar[str] = "lm-eval (the extra `lm-eval`)"
    usual: ClassVar[tuple[str, ...]] = ()

    def loads(self, options: Section) -> list[Load]:
        """The repeats."""
        assert isinstance(options, EvaluationOptions)
        facts = options.model_dump(mode="json", exclude={*OF_AIPERF, "repeat"}, exclude_defaults=True)
        names = repeats_of(self.name, options.repeat)
        return [
            Load(id=name, concurrency=options.num_threads, repeat=number, facts=facts)
            for number, name in enumerate(names)
        ]

    def packages(self, options: Section) -> dict[str, str]:
        """lm-eval itself."""
        return {"type": "lm_eval"}

    def named_files(self, options: Section) -> dict[str, str]:
        """The task's file."""
        assert isinstance(options, EvaluationOptions)
        return {"task_file": options.task_file} if options.task_file else {}

    def files(self, options: Section) -> list[str]:
        """The task's file, and the data that lies beside it."""
        assert isinstance(options, EvaluationOptions)
        if options.task_file is None:
            return []
        beside = sorted(str(path) for path in Path(options.task_file).parent.glob("*") if path.is_file())
        return [options.task_file, *(path for path in beside[:MOST_FILES] if path != options.task_file)]

    def unread(self, options: Section) -> dict[str, str]:
        """What only other clients have."""
        return dict.fromkeys(super().unread(options), "the client is lm-eval")

    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """Write what lm-eval is to do as a file and call it on that."""
        assert isinstance(options, EvaluationOptions)
        file = f"{context.directory}/evaluation.json"
        about: dict[str, Any] = {
            "configuration": context.configuration,
            "point": load.id,
            "digest": context.digest,
            "model": context.deployment.served_model,
            "url": context.url,
            "tokenizer": context.tokenizer,
            "tasks": options.tasks(self.usual),
            "max_context_length": getattr(options, "max_context_length", None),
            **options.model_dump(
                include={
                    "task_file", "api", "num_examples", "max_tokens", "num_threads", "num_shots",
                    "temperature", "top_p", "top_k", "request_timeout_s",
                }
            ),
        }  # fmt: skip
        argv = ("python3", "-m", "servesweep.loadgen.evaluation", file, "--output", context.output)
        return Command(argv=argv, env=context.environment, files={file: json.dumps(about, indent=1)})


class Gsm8k(Evaluation):
    """School mathematics."""

    name, Options, usual = "gsm8k", Gsm8kOptions, ("gsm8k",)


class Gpqa(Evaluation):
    """Questions that only experts answer."""

    name, Options, usual = "gpqa", GpqaOptions, ("gpqa_diamond_cot_zeroshot",)


class Mmlu(Evaluation):
    """Questions of many subjects, answered in words."""

    name, Options, usual = "mmlu", MmluOptions, ("mmlu_generative",)


class LongBench(Evaluation):
    """Questions over long texts."""

    name, Options, usual = "longbenchv2", LongBenchOptions, ("longbench2",)


class LmEval(Evaluation):
    """Any task."""

    name, Options = "lm-eval", LmEvalOptions


EVALUATIONS: tuple[Benchmark, ...] = (Gsm8k(), Gpqa(), Mmlu(), LongBench(), LmEval())
