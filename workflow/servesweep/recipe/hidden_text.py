"""A recipe file's text without its secrets; comments, order and everything else stay as they were written."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from servesweep.recipe.composing import SCALARS, STR, TAG, compose
from servesweep.recipe.problems import KeyPath
from servesweep.recipe.secret_names import (
    LIKE_A_SECRET,
    is_distinct,
    is_secret_name,
    is_secret_value,
    may_hold_secrets,
    variable_of,
)
from servesweep.recipe.secrets import Secret, changed, secrets_in
from servesweep.recipe.written import as_written

COMMENT = re.compile(r"(?:^|\s)#.*$", re.MULTILINE)
# `# HF_TOKEN hf_0123`, which is a name with its value in a comment alone.
NAME_AND_VALUE = re.compile(
    rf"""(?<![\w.-])(?P<name>[\w.-]++)(?P<between>[ \t]+["']?)(?P<value>{LIKE_A_SECRET})"""
)
# A block scalar that has been commented out: its lines stand further in than its key.
COMMENTED_BLOCK = re.compile(
    r"""^(?P<before>[ \t]*#(?P<indent>[ \t]*)(?:-[ \t]+)?["']?(?P<name>[\w.-]+)["']?:[ \t]+)"""
    r"""[|>][-+0-9]*[ \t]*(?P<comment>#.*)?"""
    r"""(?:(?:\n[ \t]*#[ \t]*)*\n[ \t]*#(?P=indent)[ \t]+\S.*)+""",
    re.MULTILINE,
)
NO_VALUES = frozenset({TAG + "null", TAG + "bool"})
PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
# What stands behind a block scalar's `|`, and the ends of lines behind it, which are a part of it to YAML.
BLOCK = re.compile(r"[|>][-+0-9]*(?P<comment>[ \t]+#[^\n]*)?\s*?\n.*?(?P<end>\s*)", re.DOTALL)


def hidden_text(text: str) -> str:
    """The text with `${NAME}` in place of each secret, those in comments too; an older lock is left alone."""
    if not may_hold_secrets(text):
        return text
    try:
        node = compose(text)
    except (yaml.YAMLError, RecursionError):
        node = None
    nodes: dict[KeyPath, yaml.ScalarNode] = {}
    data = _data(node, (), nodes) if isinstance(node, yaml.MappingNode) else {}
    literals = [secret for secret in secrets_in(data) if secret.reference is None]
    # By its place: an alias stands for the scalar of its anchor.
    touched = {nodes[secret.path].start_mark.index: secret.path for secret in literals}
    for at in sorted(touched, reverse=True):
        scalar, path = nodes[touched[at]], touched[at]
        start, end = scalar.start_mark.index, scalar.end_mark.index
        own = [secret for secret in literals if secret.path == path]
        text = text[:start] + _scalar(text[start:end], scalar, own) + text[end:]
    text = COMMENT.sub(_comment, COMMENTED_BLOCK.sub(_commented_block, text))
    # An anchored value may be repeated under another name.
    for secret in sorted(literals, key=lambda one: -len(one.value)):
        if is_distinct(secret.value):
            text = text.replace(secret.value, secret.marker)
    return text


def _marker(secret: Secret) -> str:
    return secret.value if secret.reference else secret.marker


def _comment(match: re.Match[str]) -> str:
    return NAME_AND_VALUE.sub(_value_behind_name, str(changed(match[0], _marker)))


def _value_behind_name(match: re.Match[str]) -> str:
    secret = is_secret_name(match["name"]) and is_secret_value(match["name"], match["value"])
    return f"{match['name']}{match['between']}{_variable(match['name'])}" if secret else match[0]


def _commented_block(match: re.Match[str]) -> str:
    if not is_secret_name(match["name"]):
        return match[0]
    comment = f"  {match['comment']}" if match["comment"] else ""
    return f"{match['before']}{_variable(match['name'])}{comment}"


def _variable(name: str) -> str:
    return Secret((), variable_of(name), "").marker


def _scalar(raw: str, node: yaml.ScalarNode, secrets: list[Secret]) -> str:
    """A scalar as it is written, without its secrets."""
    whole = secrets[0].value == node.value
    new = secrets[0].marker if whole else str(changed(node.value, _marker))
    if not whole and node.style and (within := _within(raw, new)) is not None:
        return within
    # Quotes: a brace would begin a mapping, or end one.
    found = PROPERTIES.match(raw)
    before = found[0] if found else ""
    block = BLOCK.fullmatch(raw, len(before)) if node.style in ("|", ">") else None
    after = (block["comment"] or "") + block["end"] if block else ""
    return before + json.dumps(new, ensure_ascii=False) + after


def _within(raw: str, new: str) -> str | None:
    """A scalar's text with its quotes or lines as they are; None where another value would stand there."""
    text = str(changed(raw, _marker))
    try:
        return text if yaml.safe_load(text) == new else None
    except yaml.YAMLError:
        return None


def _data(node: yaml.Node, path: KeyPath, nodes: dict[KeyPath, yaml.ScalarNode]) -> Any:
    """Plain data of a node; `nodes` grows by each of its scalars. A lock has no secrets, by its making."""
    if isinstance(node, yaml.MappingNode):
        pairs = [(key.value, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
        return {key: _data(value, (*path, key), nodes) for key, value in pairs if (*path, key) != ("lock",)}
    if isinstance(node, yaml.SequenceNode):
        return [_data(item, (*path, at), nodes) for at, item in enumerate(node.value)]
    if not isinstance(node, yaml.ScalarNode):
        return None
    nodes[path] = node
    return None if node.tag in NO_VALUES else _value(node)


def _value(node: yaml.ScalarNode) -> Any:
    """What stands there, a number as one; what cannot be read as its tag says may be a secret as well."""
    pattern, build = SCALARS.get(node.tag, SCALARS[STR])
    try:
        built = build(node.value) if pattern.fullmatch(node.value) else node.value
    except ValueError:
        return node.value
    return built if isinstance(built, str) else as_written(built, node.value)
