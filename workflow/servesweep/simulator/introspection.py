"""What a simulator tells about itself: health, model, version, counters.

The keys are those that SGLang's and vLLM's servers answer and that routers and health gates read.
"""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Any

from aiohttp import web

from servesweep.simulator.engine import Engine, prometheus_text
from servesweep.simulator.options import SimulatorOptions


def model_list(options: SimulatorOptions) -> dict[str, Any]:
    """Give the body of /v1/models."""
    model = {
        "id": options.told_name,
        "object": "model",
        "created": int(time.time()),
        "owned_by": "servesweep",
        "root": str(options.model_path or options.told_name),
        "parent": None,
        "max_model_len": options.context_length,
    }
    return {"object": "list", "data": [model]}


def model_info(options: SimulatorOptions) -> dict[str, Any]:
    """Give the body of /model_info."""
    path = str(options.model_path or options.told_name)
    return {
        "model_path": path,
        "tokenizer_path": path,
        "served_model_name": options.told_name,
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "default",
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
    }


def server_info(options: SimulatorOptions) -> dict[str, Any]:
    """Give the body of /server_info."""
    mode = "null" if options.mode == "agg" else options.mode  # SGLang's own spelling
    return model_info(options) | {
        "version": version("servesweep"),
        "host": options.host,
        "port": options.port,
        "disaggregation_mode": mode,
        "disaggregation_bootstrap_port": options.bootstrap_port,
        "context_length": options.context_length,
        "max_running_requests": options.max_num_seqs,
        "tp_size": 1,
        "pp_size": 1,
        "dp_size": 1,
        "random_seed": options.seed,
    }


def introspection_routes(engine: Engine) -> list[web.RouteDef]:
    """Give the GET routes of everything that is not a generation."""
    options = engine.options

    async def health(_: web.Request) -> web.Response:
        return web.Response()

    async def models(_: web.Request) -> web.Response:
        return web.json_response(model_list(options))

    async def model(_: web.Request) -> web.Response:
        return web.json_response(model_info(options))

    async def server(_: web.Request) -> web.Response:
        return web.json_response(server_info(options))

    async def metrics(_: web.Request) -> web.Response:
        text = prometheus_text(engine.counters, options.told_name)
        return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    async def product_version(_: web.Request) -> web.Response:
        return web.json_response({"version": version("servesweep")})

    return [
        web.get("/health", health),
        web.get("/v1/models", models),
        web.get("/model_info", model),
        web.get("/get_model_info", model),
        web.get("/server_info", server),
        web.get("/get_server_info", server),
        web.get("/metrics", metrics),
        web.get("/version", product_version),
    ]
