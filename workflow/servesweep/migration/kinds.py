"""Sections and counts of a kind that v1 could not have read are refused before anything is rewritten."""

from __future__ import annotations

from servesweep.migration.entries import Block, Entry
from servesweep.migration.reading import refusal
from servesweep.migration.v1_keys import KEYS
from servesweep.recipe.problems import shown

MAPPINGS = (
    "resources", "backend", "frontend", "benchmark", "dynamo", "infra", "observability", "telemetry",
    "profiling", "roles", "model",
)  # fmt: skip
CONFIGS = ("sglang_config", "vllm_config", "trtllm_config", "mocker_config")
NUMBERS = KEYS["resources"] | {"gpus_per_node"}


def check_kinds(block: Block, name: str, *, zipped: bool = False) -> None:
    """Check a recipe, a base or a variant; the lists of a zip hold what stands alone elsewhere.

    Raises:
        RecipeError: for the first section that is no mapping, or count that is no number.
    """
    for section in block.entries:
        value = section.data()
        if section.key == "services" and not isinstance(value, list | None):
            raise refusal(name, f"expected a list, got {shown(value)}", section.line, section.key)
        if section.key not in MAPPINGS or value is None:
            continue
        if not isinstance(value, dict):
            wanted = "a mapping of `key: value`"
            raise refusal(name, f"expected {wanted}, got {shown(value)}", section.line, section.key)
        if section.key == "backend":
            for key, inner in value.items():
                if str(key).endswith(("_config", "_environment")):
                    _check_mapping(section, str(key), inner, name)
                if key in CONFIGS and isinstance(inner, dict):
                    for mode, args in inner.items():
                        _check_mapping(section, f"{key}.{mode}", args, name)
        if section.key == "roles":
            for role, inner in value.items():
                _check_role(section, str(role), inner, name, zipped)
        if section.key == "resources":
            for key in NUMBERS & value.keys():
                alone = not (zipped and isinstance(value[key], list))
                for one in [value[key]] if alone else value[key]:
                    _check_number(section, key, one, name)


def _check_role(section: Entry, role: str, value: object, name: str, zipped: bool) -> None:
    """The keys of a role that are read together with v1's."""
    _check_mapping(section, role, value, name)
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key in ("args", "env"):
            _check_mapping(section, f"{role}.{key}", inner, name)
        elif key in ("nodes", "workers", "gpus"):
            for one in inner if zipped and isinstance(inner, list) else [inner]:
                if not isinstance(one, int | str | None):
                    sentence = f"expected a number, got {shown(one)}"
                    raise refusal(name, sentence, _line(section, role), f"roles.{role}.{key}")


def _check_mapping(section: Entry, key: str, value: object, name: str) -> None:
    if value is None or isinstance(value, dict) or (key == "kv_events_config" and not isinstance(value, str)):
        return
    sentence = f"expected a mapping of `key: value`, got {shown(value)}"
    raise refusal(name, sentence, _line(section, key), f"{section.key}.{key}")


def _check_number(section: Entry, key: str, value: object, name: str) -> None:
    """A number, or a placeholder of a sweep."""
    critical = key.endswith("_critical")
    number = isinstance(value, int) and (isinstance(value, bool) == critical)
    if value is not None and not number and not (isinstance(value, str) and "{" in value):
        wanted = "true or false" if critical else "a number"
        sentence = f"expected {wanted}, got {shown(value)}"
        raise refusal(name, sentence, _line(section, key), f"resources.{key}")


def _line(section: Entry, key: str) -> int | None:
    entry = section.block.get(key.partition(".")[0]) if section.block else None
    return entry.line if entry else section.line
