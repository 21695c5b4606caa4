"""The migration of one file: plain recipes, bases with variants, sweeps and lockfiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import yaml

from servesweep.migration.aliases import without_aliases
from servesweep.migration.benchmarks import prune_base
from servesweep.migration.blocks import VARIANTS, scopes_of
from servesweep.migration.engines import migrate_engine, settle_engine
from servesweep.migration.entries import Block, Entry, made
from servesweep.migration.framing import framed
from servesweep.migration.kinds import check_kinds
from servesweep.migration.reading import Loader, read, refusal
from servesweep.migration.remarks import DEFAULT, Remark, located
from servesweep.migration.scope import Data, Scope, keep_count
from servesweep.migration.sections import migrate_sections
from servesweep.migration.services import migrate_services
from servesweep.migration.topology import migrate_topology, settle_roles
from servesweep.migration.unknown import comment_out_unknown
from servesweep.migration.v1_keys import v1_keys
from servesweep.migration.yaml11 import spell_out
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import Problem, RecipeError
from servesweep.recipe.recipe import Recipe

SCHEMA = 2
SIGNS = ("model", "resources", "backend", "benchmark", "roles", "engine")
OF_A_CLUSTER = Cluster.model_fields.keys() - Recipe.model_fields.keys()
CLUSTER_FILE = (
    "this is a cluster file, and no recipe: it is used as it is, by --cluster, once it says"
    " `container_runtime: pyxis` (without, nothing runs in containers); `launcher: slurm` is the default"
)
# Sections whose nulls said "the default" in v1; v2 refuses them.
SPARE_NULLS = (
    "slurm", "resources", "frontend", "dynamo", "benchmark", "infra", "health_check", "output", "profiling",
    "observability", "telemetry",
)  # fmt: skip


@dataclass(frozen=True)
class Migrated:
    """A migrated file, and what a person should know about it.

    `lines` holds for each line of the text the 1-based line of the file that it comes from.
    """

    text: str
    remarks: tuple[Remark, ...]
    lines: tuple[int, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """The remarks as sentences."""
        return tuple(remark.sentence for remark in self.remarks)


def migrate_text(text: str, name: str) -> Migrated:
    """Rewrite a v1 recipe as `schema: 2`; text without keys of v1 that says so comes back unchanged.

    Comments, order, quotes and spacing stay. What v2 has no place for leaves a comment `# migrate: …`.

    Raises:
        RecipeError: when the text is no recipe, or cannot be rewritten with the same meaning.
    """
    plain = text.replace("\r\n", "\n")
    frame = framed(plain, name)
    try:
        migrated = _migrated(frame.body, name)
    except RecursionError:
        raise refusal(
            name, "an alias refers to a block that contains it, or blocks nest too deeply"
        ) from None
    except RecipeError as error:
        raise RecipeError(_moved(problem, frame.shift) for problem in error.problems) from None
    if migrated.text == frame.body:
        return Migrated(text, (), tuple(range(1, plain.count("\n") + 2)))
    written = frame.before + migrated.text + frame.behind
    lines = (*range(1, frame.shift + 1), *(line + frame.shift for line in migrated.lines))
    if frame.behind:
        end = frame.shift + frame.body.count("\n")
        lines = (*lines[:-1], *range(end + 1, plain.count("\n") + 2))
    if "\r\n" in text:
        written = written.replace("\n", "\r\n")
    remarks = tuple(remark.moved(frame.shift) for remark in migrated.remarks)
    return Migrated(written, remarks, lines)


def _moved(problem: Problem, shift: int) -> Problem:
    return problem if problem.line is None else replace(problem, line=problem.line + shift)


def _migrated(plain: str, name: str) -> Migrated:
    root = read(plain, name)
    if _version(root, name) == SCHEMA and not v1_keys(root.data()):
        return Migrated(plain, (), ())
    plain = spell_out(plain)
    try:
        return _rewrite(plain, name)
    except OrderError:
        migrated = _rewrite(without_aliases(plain), name)
        first = Remark("aliases are written out: their anchors come to stand behind them")
        return replace(migrated, remarks=(first, *migrated.remarks))


class OrderError(Exception):
    """The text that was made does not say what was meant: an alias stands before its anchor."""


def _rewrite(text: str, name: str) -> Migrated:
    root = read(text, name)
    modern = _version(root, name) == SCHEMA
    check_kinds(root, name)
    for entry in root.entries:
        if entry.block is not None and (entry.key == "base" or entry.key.startswith(VARIANTS)):
            check_kinds(entry.block, name, zipped=entry.key.startswith("zip_"))
    scopes = scopes_of(root, name, modern=modern)
    for scope in scopes:
        _migrate(scope, scopes)
        if scope.label == "base" and not modern:
            prune_base(scope, scopes[1:])
    if not modern:
        _declare(root)
    written = root.text()
    _check(written, root, name, aliases="*" in text)
    remarks = dict.fromkeys(remark for scope in scopes for remark in scope.remarks)
    return Migrated(written, located(remarks, written), root.origins())


def _version(root: Block, name: str) -> int:
    entry = root.get("schema")
    below = root.get("base")
    if entry is None and below is not None and below.block is not None:
        entry = below.block.get("schema")
    value = 1 if entry is None else entry.value
    if value not in (1, SCHEMA) or isinstance(value, bool):
        raise refusal(name, f"schema {value} is unknown: v1 and {SCHEMA} are", None, "schema")
    data = root.data()
    recipe: Data = data["base"] if isinstance(data.get("base"), dict) else data
    if entry is None and not any(key in recipe for key in SIGNS):
        if data.keys() & OF_A_CLUSTER:
            raise refusal(name, CLUSTER_FILE)
        raise refusal(name, f"this is no recipe: it has none of {', '.join(SIGNS[:4])}")
    if entry is None and not any(key in recipe for key in ("resources", "backend")) and _modern(recipe):
        raise refusal(name, "roles without schema: 2; add `schema: 2`", None, "schema")
    return int(value)


def _modern(recipe: Data) -> bool:
    return "roles" in recipe or "replicas" in recipe


def _migrate(scope: Scope, scopes: list[Scope]) -> None:
    if scope.over:
        scope.base = scopes[0].block.data()
    elif not scope.modern:
        _drop_nulls(scope)
    migrate_engine(scope)
    migrate_topology(scope)
    migrate_sections(scope)
    settle_engine(scope)
    migrate_services(scope)
    settle_roles(scope)
    if not scope.modern:
        comment_out_unknown(scope)
    keep_count(scope)


def _drop_nulls(scope: Scope) -> None:
    """Nulls of a recipe that is laid on nothing were v1's way to say the default."""
    for section in list(scope.block.entries):
        if section.data() is None and section.key not in ("base", "sweep", "lock"):
            scope.block.drop(
                section,
                scope.say(f"{section.key}: null is left out: it is the default", DEFAULT, section.key),
            )
        elif section.key in SPARE_NULLS and section.block is not None:
            for entry in [one for one in section.block.entries if one.key != "<<" and one.data() is None]:
                sentence = f"{section.key}.{entry.key}: null is left out: it is the default"
                section.block.drop(entry, scope.say(sentence, DEFAULT, f"{section.key}.{entry.key}"))


def _declare(root: Block) -> None:
    """Write `schema: 2` below the file's header."""
    old = root.get("schema")
    if old is not None:
        old.head, old.value = f": {SCHEMA}{old.comment}", SCHEMA
        return
    first = root.entries[0]
    blank = max((place for place, line in enumerate(first.lead) if not line.strip()), default=-1)
    cut = blank + 1 if any(first.lead[:blank]) else len(first.lead) if blank < 0 else 0
    entry: Entry = made("schema", SCHEMA)
    entry.lead, first.lead = first.lead[:cut], first.lead[cut:]
    if first.key == "base" and not (first.lead and not first.lead[0]):
        first.lead.insert(0, "")
    root.entries.insert(0, entry)


def _check(text: str, root: Block, name: str, *, aliases: bool) -> None:
    """Refuse to hand out text that does not say what was meant."""
    try:
        data: Any = yaml.load(text, Loader=Loader)
    except yaml.YAMLError:
        data = None
    if data == root.data():
        return
    if aliases and _has_alias(text):
        raise OrderError
    raise refusal(name, "it cannot be rewritten with the same meaning; rewrite it by hand")


def _has_alias(text: str) -> bool:
    return any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=Loader))
