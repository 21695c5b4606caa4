"""A recipe file's text without its secrets; comments, order and everything else stay as they were written."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from servesweep.recipe.composing import STR, TAG, compose
from servesweep.recipe.problems import KeyPath
from servesweep.recipe.secret_names import is_distinct, may_hold_secrets
from servesweep.recipe.secrets import Secret, changed, secrets_in

COMMENT = re.compile(r"(?:^|\s)#.*$", re.MULTILINE)
PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")


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
    text = COMMENT.sub(lambda match: str(changed(match[0], _marker)), text)
    # An anchored value may be repeated under another name.
    for secret in sorted(literals, key=lambda one: -len(one.value)):
        if is_distinct(secret.value):
            text = text.replace(secret.value, secret.marker)
    return text


def _marker(secret: Secret) -> str:
    return secret.value if secret.reference else secret.marker


def _scalar(raw: str, node: yaml.ScalarNode, secrets: list[Secret]) -> str:
    """A scalar as it is written, without its secrets."""
    if all(secret.value in raw for secret in secrets) and secrets[0].value != node.value:
        for secret in secrets:
            raw = raw.replace(secret.value, secret.marker)
        return raw
    # Quotes: a brace would begin a mapping.
    new = secrets[0].marker if secrets[0].value == node.value else str(changed(node.value, _marker))
    found = PROPERTIES.match(raw)
    return (found[0] if found else "") + json.dumps(new, ensure_ascii=False)


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
    if node.tag == STR:
        return node.value
    return int(node.value) if node.tag == TAG + "int" and node.value.isdigit() else None
