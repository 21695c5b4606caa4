"""Frontends, one file each; adding one is a file and a line here."""

from __future__ import annotations

from servesweep.frontends.atomesh import Atomesh
from servesweep.frontends.direct import Direct, SglangServer, VllmServer
from servesweep.frontends.dynamo import Dynamo
from servesweep.frontends.frontend import Frontend
from servesweep.frontends.nothing import Nothing
from servesweep.frontends.sglang_router import SglangRouter
from servesweep.frontends.tilert_router import TilertRouter
from servesweep.frontends.trtllm_serve import TrtllmServe
from servesweep.frontends.vllm_router import VllmRouter

FRONTENDS: dict[str, Frontend] = {
    frontend.name: frontend
    for frontend in (
        Dynamo(), SglangRouter(), VllmRouter(), TrtllmServe(), TilertRouter(), Atomesh(), SglangServer(),
        VllmServer(), Direct(), Nothing(),
    )
}  # fmt: skip
