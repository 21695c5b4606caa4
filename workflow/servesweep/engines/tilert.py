"""`tilert`: TileRT's decode server, behind its own router and a vLLM that computes the prompts.

Source of the flags: TileRT 0.1.6, https://github.com/tile-ai/TileRT, `tilert/pd_vllm/decode_server.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from servesweep.engines.engine import Engine, WorkerSpec
from servesweep.engines.flags import kebab, text
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment
from servesweep.topology.shapes import ProcessPlace


class TilertOptions(Section):
    """Engine-wide options of TileRT."""

    served_model_name: str | None = Field(
        default=None, description="The served name; prefill's is the one that counts."
    )


class Tilert(Engine):
    """One process a decode worker, on one node."""

    name = "tilert"
    Options = TilertOptions
    moves_by_mooncake = True
    transports = frozenset({"http"})
    reserved = frozenset({"engine", "host", "port", "http-port", "ctrl-port", "disaggregation-mode"})

    def command(self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> Command:
        """Render the decode server; an argument with several values is given several times."""
        words = ["python", "-m", "tilert.pd_vllm.decode_server", "--engine", "tilert"]
        words += ["--http-port", str(process.http_port), "--ctrl-port", str(process.nixl_port)]
        for name, value in worker.args.items():
            if value is None or value is False:
                continue
            for item in value if isinstance(value, list | tuple) else [value]:
                words += [f"--{kebab(name)}"] if item is True else [f"--{kebab(name)}", text(item)]
        return Command(argv=tuple(words))

    def served_model(self, args: Mapping[str, Any], options: Section | None = None) -> str | None:
        """The name of the options, if they give one: TileRT's arguments know none."""
        return options.served_model_name if isinstance(options, TilertOptions) else None

    def refusals(self, mode: str, args: Mapping[str, Any], options: Section) -> list[tuple[str, str]]:
        """Refuse any role but decode."""
        faults = super().refusals(mode, args, options)
        if mode != "decode":
            faults.append(("engine", f"tilert decodes only: the role {mode} needs another engine"))
        return faults
