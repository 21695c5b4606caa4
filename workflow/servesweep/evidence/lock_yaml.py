"""YAML that means the same to readers of YAML 1.1 and of 1.2."""

from __future__ import annotations

from typing import Any

import yaml

from servesweep.recipe.composing import CoreLoader


class _Dumper(yaml.SafeDumper):
    """Quotes every text that either version takes for something else: `1e5` is a number in 1.2 alone."""

    def ignore_aliases(self, data: Any) -> bool:
        """Equal parts are written out each time: people read this."""
        return True


for _first, _patterns in CoreLoader.yaml_implicit_resolvers.items():
    for _tag, _pattern in _patterns:
        if not _tag.endswith(":merge"):
            _Dumper.add_implicit_resolver(_tag, _pattern, [_first])


def lock_yaml(data: dict[str, Any]) -> str:
    """Block style, keys in their order."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True)
    return text
