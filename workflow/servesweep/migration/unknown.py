"""Keys that v2 does not have, and v1 mostly not either: they become comments, each with a note."""

from __future__ import annotations

from pydantic import BaseModel

from servesweep.migration import v1
from servesweep.migration.blocks import VARIANTS
from servesweep.migration.entries import Block, Entry, opened
from servesweep.migration.remarks import ATTENTION
from servesweep.migration.scope import Scope
from servesweep.recipe.explaining import model_in
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import Choice

OF_THE_FILE = ("base", "sweep", "lock")
# The engines of v1, and the options that v2 reads of any of them.
ENGINES = ("sglang", "vllm", "trtllm", "mocker")
ENGINE_KEYS = {
    "type", "allow_prefill_decode_colocation", "allow_prefill_decode_colocation_across_nodes", "block_size",
    "connector", "data_parallel_size", "decode_speedup_ratio", "distributed", "dp_launch_mode", "engine_type",
    "failover", "max_num_batched_tokens", "max_num_seqs", "mooncake_kv_store", "num_gpu_blocks_override",
    "numa_cpu_bind", "numa_memory_bind", "publish_events_and_metrics", "publish_metrics",
    "sequential_node_start", "served_model_name", "set_visible_devices", "speedup_ratio", "startup_time",
    "vllm_serve_binary",
}  # fmt: skip


def comment_out_unknown(scope: Scope) -> None:
    """Turn unknown keys of a recipe, and of its sections that are mappings, into comments.

    What a type decides, as in `benchmark`, is settled where that section is migrated.
    """
    for entry in list(scope.block.entries):
        if entry.key == "engine":
            _engine(scope, entry)
        elif entry.key not in OF_THE_FILE and not entry.key.startswith(VARIANTS):
            _check(scope, scope.block, entry, Recipe, "")


def _check(scope: Scope, block: Block, entry: Entry, model: type[BaseModel], above: str) -> None:
    """Comment an entry out that `model` has no key for, or look below it."""
    key = entry.key
    field = next((f for name, f in model.model_fields.items() if key == (f.alias or name)), None)
    if field is None:
        if key != "<<":
            _comment_out(scope, block, entry, above)
        return
    below, data = model_in(field.annotation), entry.data()
    if below is None or issubclass(below, Choice) or not isinstance(data, dict):
        return
    known = {inner.alias or name for name, inner in below.model_fields.items()}
    if entry.block is not None or not data.keys() <= known:
        inside = opened(entry)
        for one in list(inside.entries):
            _check(scope, inside, one, below, f"{above}{key}.")


def _engine(scope: Scope, engine: Entry) -> None:
    """An option of another engine than the recipe's stays: planning says what is wrong with it."""
    data = engine.data()
    if not isinstance(data, dict) or data.keys() <= ENGINE_KEYS:
        return
    if not {v1.engine(old) for old in scope.old} <= set(ENGINES):
        return
    inside = opened(engine)
    for one in list(inside.entries):
        if one.key not in ENGINE_KEYS:
            _comment_out(scope, inside, one, "engine.")


def _comment_out(scope: Scope, block: Block, entry: Entry, above: str) -> None:
    sentence = f"{above}{entry.key} is commented out: v2 has no such key"
    block.comment_out(entry, scope.say(sentence, ATTENTION, origin=entry.line))
