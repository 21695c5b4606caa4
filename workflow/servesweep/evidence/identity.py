"""What a recipe declares about its model, image and frameworks, held against what the workers found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from servesweep.recipe.identity import IdentitySection

Status = Literal["OK", "FAIL", "DECLARED"]
# What people call a framework to the key of a fingerprint's `frameworks`.
SPELLINGS = {"ai-dynamo": "dynamo", "tensorrt-llm": "tensorrt_llm", "trtllm": "tensorrt_llm"}


@dataclass(frozen=True)
class Check:
    """One declared fact: whether it is so, or only said."""

    field: str
    status: Status
    message: str


def verify(
    declared: IdentitySection | None, image: str | None, fingerprints: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The verification as it stands in the lockfile; None where a recipe declares nothing.

    `image` is the one that the plan starts workers from. A fact that no worker can see is DECLARED: it is
    neither held nor broken. Nothing here ends a run.
    """
    if declared is None:
        return None
    checks = [*_model(declared, fingerprints), *_image(declared, image), *_frameworks(declared, fingerprints)]
    counts = {word: sum(check.status == status for check in checks) for word, status in COUNTED.items()}
    result = "FAIL" if counts["failed"] else "OK" if counts["verified"] else "DECLARED"
    return {
        "result": result,
        **counts,
        "checks": [{"field": c.field, "status": c.status, "message": c.message} for c in checks],
    }


COUNTED: dict[str, Status] = {"verified": "OK", "declared": "DECLARED", "failed": "FAIL"}


def _model(declared: IdentitySection, fingerprints: Mapping[str, Any]) -> Iterator[Check]:
    if declared.model is None:
        return
    for field in ("repo", "revision"):
        if (said := getattr(declared.model, field)) is not None:
            seen = {name: (one.get("model") or {}).get(field) for name, one in fingerprints.items()}
            yield _check(f"model.{field}", said, seen, "the model's directory does not tell")


def _image(declared: IdentitySection, image: str | None) -> Iterator[Check]:
    said = declared.container.image if declared.container else None
    if said is None:
        return
    if image is None:
        yield Check("container.image", "DECLARED", f"{said} is declared, and processes run bare")
    elif _plain_image(said) == _plain_image(image):
        yield Check("container.image", "OK", f"{said}: workers are started from it")
    elif image.startswith(("/", "./", "../")):
        yield Check("container.image", "DECLARED", f"{said} is declared; the file {image} does not tell")
    else:
        yield Check("container.image", "FAIL", f"{said} is declared, and workers are started from {image}")


def _frameworks(declared: IdentitySection, fingerprints: Mapping[str, Any]) -> Iterator[Check]:
    for name, version in declared.frameworks.items():
        seen = {worker: _version(name, one) for worker, one in fingerprints.items()}
        yield _check(f"frameworks.{name}", version, seen, "no worker has it among its packages")


def _version(name: str, fingerprint: Mapping[str, Any]) -> str | None:
    plain = re.sub(r"[-_.]+", "-", name).lower()
    found = (fingerprint.get("frameworks") or {}).get(SPELLINGS.get(plain, plain))
    if found is not None:
        return str(found)
    packages = dict(word.partition("==")[::2] for word in fingerprint.get("pip_packages") or [])
    return packages.get(plain)


def _check(field: str, said: str, seen: Mapping[str, str | None], unseen: str) -> Check:
    """Hold one word against what each worker has found."""
    known = {worker: found for worker, found in seen.items() if found is not None}
    others = {worker: found for worker, found in known.items() if found != said}
    if not known:
        return Check(field, "DECLARED", f"{said} is declared; {unseen}")
    if others:
        told = ", ".join(f"{found} on {worker}" for worker, found in others.items())
        return Check(field, "FAIL", f"{said} is declared, and there is {told}")
    return Check(field, "OK", f"{said}: found on {', '.join(known)}")


def _plain_image(name: str) -> str:
    """`docker://org/image:tag` and `org#image:tag` of enroot are `org/image:tag`."""
    return name.removeprefix("docker://").replace("#", "/")


def banner(verification: Mapping[str, Any] | None) -> list[str]:
    """Lines for the story of a run: the result, and each fact that does not hold or is only said."""
    if verification is None:
        return []
    lines = [f"identity: {verification['result']} ({verification['verified']} verified, "
             f"{verification['declared']} declared only, {verification['failed']} failed)"]  # fmt: skip
    open_checks = [check for check in verification["checks"] if check["status"] != "OK"]
    return lines + [f"identity: {check['field']}: {check['message']}" for check in open_checks]
