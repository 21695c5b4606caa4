"""Inference engines, one file each; adding one is a file and a line here."""

from __future__ import annotations

from servesweep.engines.atom import Atom
from servesweep.engines.command import CommandEngine
from servesweep.engines.engine import Engine
from servesweep.engines.mocker import Mocker
from servesweep.engines.sglang import Sglang
from servesweep.engines.simulator import Simulator
from servesweep.engines.tilert import Tilert
from servesweep.engines.tokenspeed import Tokenspeed
from servesweep.engines.trtllm import Trtllm
from servesweep.engines.vllm import Vllm

ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Simulator(), Mocker(), CommandEngine(), Sglang(), Vllm(), Trtllm(), Tilert(), Atom(), Tokenspeed(),
    )
}  # fmt: skip
