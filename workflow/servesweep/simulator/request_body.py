"""Bodies of /v1/completions and /v1/chat/completions, and what is refused about them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

Endpoint = Literal["completion", "chat"]
DEFAULT_MAX_TOKENS = 16  # the default of OpenAI's /v1/completions, here for both endpoints


class RequestRefusedError(Exception):
    """A request that gets an OpenAI error body instead of an answer."""

    def __init__(self, status: int, message: str, kind: str = "BadRequestError", param: str | None = None):
        super().__init__(message)
        self.status, self.message, self.kind, self.param = status, message, kind, param

    def body(self) -> dict[str, Any]:
        """Give the error body in OpenAI's form."""
        error = {"message": self.message, "type": self.kind, "param": self.param, "code": self.status}
        return {"error": error}


class StreamOptions(BaseModel):
    """The `stream_options` of a request."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    include_usage: bool = Field(default=False, description="send a last chunk that holds the usage")


class KvTransferParams(BaseModel):
    """The part of vLLM's `kv_transfer_params` that decides who prefills."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    do_remote_decode: bool = Field(default=False, description="this worker only prefills")
    do_remote_prefill: bool = Field(default=False, description="another worker has prefilled")
    remote_engine_id: str | None = Field(default=None, description="engine that holds the KV cache")


class GenerationRequest(BaseModel):
    """What the two bodies share; keys a simulator has no use for (temperature, ...) are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    endpoint: ClassVar[Endpoint]

    model: str = Field(description="served model name")
    max_tokens: int | None = Field(default=None, ge=1, description="most output tokens")
    max_completion_tokens: int | None = Field(default=None, ge=1, description="newer name of max_tokens")
    min_tokens: int = Field(default=0, ge=0, description="fewest output tokens")
    ignore_eos: bool = Field(default=False, description="produce max_tokens tokens whatever happens")
    stream: bool = Field(default=False, description="answer with server-sent events")
    stream_options: StreamOptions | None = Field(default=None, description="what to add to the stream")
    n: Literal[1, None] = Field(default=None, description="number of answers")
    bootstrap_room: int | list[int] | None = Field(default=None, description="SGLang's id of a KV transfer")
    kv_transfer_params: KvTransferParams | None = Field(default=None, description="vLLM's KV transfer")

    @property
    def most_tokens(self) -> int:
        """Most output tokens that were asked for."""
        return self.max_completion_tokens or self.max_tokens or DEFAULT_MAX_TOKENS

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with a usage chunk."""
        return self.stream_options is not None and self.stream_options.include_usage

    @abstractmethod
    def prompt_parts(self) -> list[str] | list[int]:
        """Give the prompt: its token ids, or the texts whose tokens have to be counted."""


def _the_only_prompt(prompt: Any) -> Any:
    """Take a prompt out of a batch of one; anything else stays for pydantic to judge."""
    batch_of_one = isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list)
    return prompt[0] if batch_of_one else prompt


class CompletionRequest(GenerationRequest):
    """Body of /v1/completions: one prompt, as text or as token ids."""

    endpoint: ClassVar[Endpoint] = "completion"

    prompt: Annotated[str | Annotated[list[int], Field(min_length=1)], BeforeValidator(_the_only_prompt)] = (
        Field(description="text or token ids")
    )
    echo: bool = Field(default=False, description="tell the prompt's tokens too, where logprobs are asked")
    logprobs: int | None = Field(default=None, ge=0, description="tell how likely each token was")

    @property
    def echoed_ids(self) -> list[int] | None:
        """The prompt's token ids where their likelihoods are asked for, of a prompt given as ids."""
        asked = self.echo and self.logprobs is not None and not self.stream
        return self.prompt if asked and isinstance(self.prompt, list) else None

    def prompt_parts(self) -> list[str] | list[int]:
        """Give the token ids, or the one text."""
        return [self.prompt] if isinstance(self.prompt, str) else self.prompt


def _joined_text_parts(content: Any) -> Any:
    """Turn a list of `{"type": "text"}` parts into their text; anything else stays for pydantic to judge."""
    if isinstance(content, list) and all(isinstance(part, dict) and "text" in part for part in content):
        return "\n".join(str(part["text"]) for part in content)
    return content


class ChatMessage(BaseModel):
    """One message of a conversation."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    role: str = Field(description="who speaks")
    content: Annotated[str | None, BeforeValidator(_joined_text_parts)] = Field(
        default=None, description="text, or a list of text parts"
    )


class ChatRequest(GenerationRequest):
    """Body of /v1/chat/completions. The chat template adds nothing to the prompt here."""

    endpoint: ClassVar[Endpoint] = "chat"

    messages: list[ChatMessage] = Field(min_length=1, description="the conversation so far")

    def prompt_parts(self) -> list[str] | list[int]:
        """Give the text of every message."""
        return [message.content or "" for message in self.messages]


_BODIES: dict[Endpoint, type[GenerationRequest]] = {"completion": CompletionRequest, "chat": ChatRequest}


def parse_request(endpoint: Endpoint, raw: bytes, served_name: str) -> GenerationRequest:
    """Read a request body.

    Raises RequestRefusedError: 400 for what is malformed, 404 for a model that is not served.
    """
    try:
        request = _BODIES[endpoint].model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        message = f"{where}: {first['msg']}" if where else str(first["msg"])
        raise RequestRefusedError(400, message, param=where or None) from error
    if request.model != served_name:
        raise RequestRefusedError(
            404, f"The model `{request.model}` does not exist.", kind="NotFoundError", param="model"
        )
    if request.min_tokens > request.most_tokens:
        message = f"min_tokens {request.min_tokens} is more than max_tokens {request.most_tokens}."
        raise RequestRefusedError(400, message, param="min_tokens")
    return request
