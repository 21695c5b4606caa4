"""What a request will be answered with: prompt tokens, output tokens, the reason it ends. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from servesweep.simulator.options import SimulatorOptions
from servesweep.simulator.request_body import GenerationRequest, RequestRefusedError

FinishReason = Literal["length", "stop"]
_BLOCK_TOKENS = 16  # vLLM's default KV block size


@dataclass(frozen=True, slots=True)
class Generation:
    """One answer before it is given."""

    prompt_tokens: int
    output_tokens: int
    finish_reason: FinishReason
    prefilled: bool

    def usage(self) -> dict[str, int]:
        """Give the `usage` object of an answer."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.output_tokens,
            "total_tokens": self.prompt_tokens + self.output_tokens,
        }


def count_prompt(request: GenerationRequest, count_text: Callable[[str], int]) -> int:
    """Count a prompt's tokens: its ids when it holds ids, else what `count_text` says of each text."""
    return sum(1 if isinstance(part, int) else count_text(part) for part in request.prompt_parts())


def plan_generation(
    options: SimulatorOptions, request: GenerationRequest, prompt_tokens: int, completed_requests: int = 0
) -> Generation:
    """Decide how many tokens a request gets and why it ends, after so many completed ones.

    Raises RequestRefusedError (400) when prompt and output do not fit into the context.
    """
    most = request.most_tokens
    if prompt_tokens + most > options.context_length:
        message = (
            f"This model's maximum context length is {options.context_length} tokens, but {prompt_tokens} "
            f"tokens of prompt and {most} tokens of output were requested."
        )
        raise RequestRefusedError(400, message)
    if options.faults.answers_nothing(completed_requests):
        return Generation(prompt_tokens, 0, "stop", is_prefilled(options, request))
    tokens = most
    if options.mode == "prefill" and request.bootstrap_room is not None:
        tokens = 1  # SGLang's router sends the body of the whole request to the prefill worker too
    elif options.eos_after is not None and not request.ignore_eos:
        tokens = min(most, max(options.eos_after, request.min_tokens))
        if tokens < most:
            return Generation(prompt_tokens, tokens, "stop", is_prefilled(options, request))
    return Generation(prompt_tokens, tokens, "length", is_prefilled(options, request))


def is_prefilled(options: SimulatorOptions, request: GenerationRequest) -> bool:
    """Say whether a prefill worker has done this request's prompt already (vLLM's protocol).

    Raises RequestRefusedError (400) when the request says so but names no engine that holds the KV cache.
    """
    params = request.kv_transfer_params
    if options.mode != "decode" or params is None or not params.do_remote_prefill:
        return False
    if params.remote_engine_id is None:
        raise RequestRefusedError(
            400,
            "kv_transfer_params has do_remote_prefill but no remote_engine_id.",
            param="kv_transfer_params",
        )
    return True


def handover(
    options: SimulatorOptions, request: GenerationRequest, ordinal: int, prompt_tokens: int
) -> dict[str, Any] | None:
    """Give the `kv_transfer_params` with which a prefill worker answers, or None when it was not asked.

    Keys as vLLM's NixlConnector answers them; the decode worker gets them back through the router.
    """
    params = request.kv_transfer_params
    if options.mode != "prefill" or params is None or not params.do_remote_decode:
        return None
    blocks = -(-prompt_tokens // _BLOCK_TOKENS)
    return {
        "do_remote_prefill": True,
        "do_remote_decode": False,
        "remote_engine_id": f"simulator-{options.port}",
        "remote_request_id": str(ordinal),
        "remote_block_ids": list(range(blocks)),
        "remote_host": options.host,
        "remote_port": options.bootstrap_port or options.port,
        "tp_size": 1,
    }
