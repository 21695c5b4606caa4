"""The reference of the recipe language as a page: every key, what it takes, its default, what it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from servesweep.plan.reference_examples import CLUSTER, EXAMPLES, NOTES, WHOLE_FILES
from servesweep.plan.reference_tables import Listed, anchor, rows, sections, table
from servesweep.plan.reference_types import benchmarks, engines, frontends, services
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.recipe import Recipe

HEAD = """\
# Recipe reference

Every key of a recipe and of the cluster file, made by `servesweep schema --page` from the code that reads
them. A key that is not listed here is an error, with two exceptions: keys of srt-slurm's v1 in a recipe with
`schema: 2` are read as what they mean there, with a note, and the arguments of engines and frontends (`args`,
`extra_args`, `framework_args`, `router_args`) are passed on unchecked, but for those that the topology owns,
which are named below. Where a key says that this version cannot run it yet, `servesweep plan` shows the plan
and validation refuses it. Worked recipes for real engines: `config/recipes/engines/`.

## In an editor

An editor with the YAML language server (VS Code with the YAML extension, Neovim, Emacs, JetBrains …)
completes keys, shows what they mean and marks mistakes while you write. Once, and after an update:

```console
servesweep schema --output config/recipe.schema.json
servesweep schema --cluster --output config/cluster.schema.json
```

Then the first line of a recipe names the file, with a path relative to the recipe:

```yaml
# yaml-language-server: $schema=../recipe.schema.json
```

That is for `config/recipes/*.yaml`; one directory deeper, as in `config/recipes/features/`, it is
`../../recipe.schema.json`. A cluster file in `config/` says `$schema=cluster.schema.json`. Both files are
made, so git ignores them.
"""
# What stands below a section, beside its own keys.
TYPES: Mapping[str, Callable[[Mapping[str, str]], Iterator[str]]] = {
    "engine": engines, "frontend": frontends, "benchmark": benchmarks, "services[]": services,
}  # fmt: skip
WITHOUT_TABLE = ("engine", "benchmark")


def reference_page() -> str:
    """The whole page, Markdown."""
    listed = [*sections(Recipe, set())]
    anchors = {one.model.__name__: anchor(one.title) for one in listed}
    parts = [HEAD, _contents(listed), *_whole_file(anchors)]
    for one in listed:
        parts += _section(one, anchors)
    return "\n".join([*parts, *_cluster(anchors)])


def _contents(listed: list[Listed]) -> str:
    tops = [one for one in listed if "." not in one.key]
    links = ", ".join(f"[{one.key.removesuffix('[]')}](#{anchor(one.title)})" for one in tops)
    return f"## Sections\n\n{links}; the [cluster file](#cluster-file).\n"


def _whole_file(anchors: Mapping[str, str]) -> Iterator[str]:
    yield "## Recipe\n\nThe keys at the top of a recipe.\n"
    yield table(rows(Recipe, "", anchors))
    for note, text in WHOLE_FILES:
        yield f"{note}\n\n{_yaml(text)}"


def _section(one: Listed, anchors: Mapping[str, str]) -> Iterator[str]:
    yield f"## {one.title}\n\n{(one.model.__doc__ or '').splitlines()[0]}\n"
    if one.key in NOTES:
        yield f"{NOTES[one.key]}\n"
    if one.key in EXAMPLES:
        yield _yaml(EXAMPLES[one.key])
    if one.key not in WITHOUT_TABLE:
        yield table(rows(one.model, f"{one.key}.", anchors))
    if one.key in TYPES:
        yield from TYPES[one.key](anchors)


def _cluster(anchors: Mapping[str, str]) -> Iterator[str]:
    yield f"## Cluster file\n\n{(Cluster.__doc__ or '').splitlines()[0]}\n"
    yield _yaml(CLUSTER)
    yield table(rows(Cluster, "", anchors))


def _yaml(text: str) -> str:
    return f"```yaml\n{text.strip()}\n```\n"
