"""JSON Schema of recipes and of the cluster file, so that editors complete and check what people write.

Composed from the models and from what engines, frontends, services and benchmarks register, so it never says
anything else. Draft 7, which the YAML language server of editors reads.
"""

from __future__ import annotations

from servesweep.benchmarks import BENCHMARKS
from servesweep.frontends import FRONTENDS
from servesweep.plan.schema_choices import (
    CHOICES,
    Kinds,
    chosen,
    frontend_cases,
    kinds_of_choice,
    service_cases,
)
from servesweep.plan.schema_definitions import REF, Schema, definitions
from servesweep.plan.schema_forms import FORMS, PART, SWEPT, ZIP, Form
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.not_yet import NOT_YET
from servesweep.recipe.problems import listed
from servesweep.recipe.recipe import SCHEMA, Recipe
from servesweep.services import SERVICES

DRAFT = "http://json-schema.org/draft-07/schema#"
BASE = "What all variants of the file have in common."
# Replicas, and services that own nodes, do without roles.
WORKERS: Schema = {
    "if": {"not": {"anyOf": [{"required": ["replicas"]}, {"required": ["services"]}]}},
    "then": {"required": ["roles"]},
}
SWEEP = "Parameters and the list of values of each; {name} puts one in."


def recipe_schema() -> Schema:
    """A recipe: one configuration, one with a sweep, or a base with overrides."""
    strict, kinds = _strict()
    templates = strict | {"Recipe": _template(strict["Recipe"])}
    found = dict(strict)
    for form in FORMS:
        for name, schema in templates.items():
            choice = name in kinds
            formed = form.choice(name, schema, kinds[name]) if choice else form.section(name, schema)
            found[f"{form.name}{name}"] = formed
    for whole in ("", SWEPT.name):
        found[f"{whole}RolesSection"] |= _rules_of_roles()
        found[f"{whole}Recipe"] |= WORKERS
    swept = {"if": {"required": ["sweep"]}, "then": _ref(SWEPT), "else": {"$ref": f"{REF}Recipe"}}
    return {
        "$schema": DRAFT,
        "title": "servesweep recipe",
        "type": "object",
        # For completion: which of the three forms it is, these keys decide.
        "properties": {"base": {"description": BASE}, "sweep": {"description": SWEEP}},
        "if": {"required": ["base"]},
        "then": {
            "properties": {"schema": {"const": SCHEMA}, "base": _block(PART)},
            "patternProperties": {"^override_.": _block(PART), "^zip_override_.": _block(ZIP)},
            "additionalProperties": False,
        },
        "else": swept,
        "definitions": found,
    }


def cluster_schema() -> Schema:
    """The cluster file."""
    return {
        "$schema": DRAFT,
        "title": "servesweep cluster file",
        "allOf": [{"$ref": f"{REF}Cluster"}],
        "definitions": definitions(Cluster),
    }


def _strict() -> tuple[dict[str, Schema], dict[str, Kinds]]:
    """Every section of one resolved configuration, and the types of those that have some."""
    found = definitions(Recipe)
    kinds: dict[str, Kinds] = {}
    for name, registered in CHOICES.items():
        kinds[name], further = kinds_of_choice(found[name], registered)
        found |= further
        found[name] = chosen(kinds[name])
    if planned := [name for name, kind in BENCHMARKS.items() if not kind.runs]:
        told = found["BenchmarkSection"]["properties"]["type"]
        told["description"] += f" {listed(f'`{name}`' for name in planned)}: {NOT_YET}."
    found["RoleSection"]["properties"]["nodes"]["minimum"] = 1
    found["FrontendSection"]["properties"]["type"]["enum"] = sorted(FRONTENDS)
    found["FrontendSection"]["allOf"] = frontend_cases()
    found["ServiceSection"]["properties"]["type"]["enum"] = list(SERVICES)
    found["ServiceSection"]["allOf"], further = service_cases()
    return found | further, kinds


def _rules_of_roles() -> Schema:
    """One form of the roles, and what `colocate` needs."""
    colocated = {"properties": {"nodes": {"const": "colocate"}}, "required": ["nodes"]}
    told = {"decode": {"type": "object", **colocated}}
    gpus = {"type": ["object", "string"], "required": ["gpus"]}
    one_form = {
        "if": {"required": ["agg"]},
        "then": {"not": {"anyOf": [{"required": ["prefill"]}, {"required": ["decode"]}]}},
        "else": {"required": ["prefill", "decode"]},
    }
    both = {"properties": {"prefill": gpus, "decode": gpus}}
    return {"allOf": [one_form, {"if": {"properties": told, "required": ["decode"]}, "then": both}]}


def _template(recipe: Schema) -> Schema:
    """With the parameters of a sweep; its name need say nothing, for each variant's is made longer."""
    values = {"type": "array", "minItems": 1}
    sweep = {"description": SWEEP, "type": "object", "minProperties": 1, "additionalProperties": values}
    properties = recipe["properties"]
    name = {key: value for key, value in properties["name"].items() if key != "minLength"}
    return recipe | {"properties": {**properties, "name": name, "sweep": sweep}}


def _ref(form: Form) -> Schema:
    return {"$ref": f"{REF}{form.name}Recipe"}


def _block(form: Form) -> Schema:
    """A recipe's part under a key of its own: a mapping, and nothing that stands for one."""
    return {"allOf": [{"type": "object"}, _ref(form)]}
