"""The parallel sizes of a role's workers, read from the command line that starts them.

Spellings are those of vLLM, SGLang and TensorRT-LLM (`trtllm-serve`), whose flags differ little.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

SPELLINGS = {
    "tp": ("tensor-parallel-size", "tp-size", "tp"),
    "pp": ("pipeline-parallel-size", "pp-size", "pp"),
    "dp": ("data-parallel-size", "dp-size", "dp"),
    "ep": ("expert-parallel-size", "moe-expert-parallel-size", "ep-size", "ep"),
}
# vLLM spreads the experts over all ranks when this flag stands there.
ALL_RANKS = "enable-expert-parallel"
ATTENTION = ("enable-dp-attention", "enable-attention-dp")
SPECULATIVE = ("speculative-algorithm", "speculative-algo", "speculative-config", "speculative-decoding-type")
FALSE = {"", "false", "0", "none", "null"}


def options(argv: Sequence[str]) -> dict[str, str]:
    """Long options of a command line, without their dashes: `--tp-size 4`, `--tp_size=4`; "" for a flag."""
    found: dict[str, str] = {}
    for word, following in pairwise([*argv, "--"]):
        if word.startswith("-") and not _is_number(word):
            name, given, value = word.lstrip("-").partition("=")
            bare = "" if following.startswith("-") and not _is_number(following) else following
            found[name.replace("_", "-").lower()] = value if given else bare
    return found


def sizes(argv: Sequence[str], args: Mapping[str, Any], gpus: int | None) -> dict[str, int | None]:
    """`tp`, `pp`, `dp` and `ep` of one worker with so many GPUs.

    A size that neither the command line nor the role's arguments tell is 1; tensor parallelism then takes the
    GPUs that the others leave. Without a number of GPUs it stays None.
    """
    told = said(argv, args)
    read = {size: _first(told, names) for size, names in SPELLINGS.items()}
    pp, dp = read["pp"] or 1, read["dp"] or 1
    tp = read["tp"]
    if tp is None and gpus:
        tp = max(gpus // (pp * dp), 1) if read["pp"] or read["dp"] else gpus
    ep = read["ep"]
    if ep is None:
        ep = tp * dp if tp and _is_on(told, (ALL_RANKS,)) else 1
    return {"tp": tp, "pp": pp, "dp": dp, "ep": ep}


def has_attention_parallelism(argv: Sequence[str], args: Mapping[str, Any]) -> bool:
    """Whether attention runs data-parallel while the experts are spread."""
    return _is_on(said(argv, args), ATTENTION)


def speculation(argv: Sequence[str], args: Mapping[str, Any]) -> str:
    """The method of speculative decoding in lower case, `none` where there is none."""
    told = said(argv, args)
    named = next((told[name] for name in SPECULATIVE if told.get(name, "").lower() not in FALSE), "none")
    return "mtp" if any(word in named.lower() for word in ("mtp", "nextn")) else named.lower()


def said(argv: Sequence[str], args: Mapping[str, Any]) -> dict[str, str]:
    """Arguments of a role under names with hyphens; the command line has the last word."""
    return dict(_flat(args)) | options(argv)


def _flat(args: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in args.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        elif isinstance(value, bool):
            yield name.replace("_", "-").lower(), "" if value and not prefix else str(value).lower()
        elif value is not None:
            yield name.replace("_", "-").lower(), str(value)


def _first(told: Mapping[str, str], names: Sequence[str]) -> int | None:
    return next((int(told[name]) for name in names if told.get(name, "").isdigit()), None)


def _is_on(told: Mapping[str, str], names: Sequence[str]) -> bool:
    return any(name in told and told[name].lower() not in FALSE - {""} for name in names)


def _is_number(word: str) -> bool:
    return word.lstrip("-").replace(".", "", 1).isdigit()
