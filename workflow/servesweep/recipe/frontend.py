"""`frontend:` — what takes the clients' requests and hands them to workers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from servesweep.recipe.limits import MOST_NODES
from servesweep.recipe.section import Environment, Section, unsaid
from servesweep.recipe.texts import Line


class FrontendPlacement(Section):
    """Where the frontend runs."""

    node: Literal["head", "first_decode", "dedicated"] = Field(
        default="head", description="`dedicated` reserves one more node; other values name an existing node."
    )


class FrontendSection(Section):
    """Type, arguments and place of the frontend, and nginx where there are several."""

    type: str = Field(
        default="dynamo", description="Registered frontend, such as dynamo, sglang-router, direct, none."
    )
    args: dict[str, Any] = Field(
        default_factory=dict, description="The frontend's own flags; true gives a bare flag."
    )
    env: Environment = Field(default_factory=dict, description="Environment of the frontend's process.")
    placement: FrontendPlacement = Field(
        default_factory=unsaid(FrontendPlacement), description="Where the frontend runs."
    )
    enable_multiple_frontends: bool | None = Field(
        default=None,
        description="With several worker nodes: nginx on the head, and frontends on further nodes."
        " Default: where containers run; bare, nginx must be installed on the nodes.",
    )
    num_additional_frontends: int = Field(
        default=9,
        ge=0,
        le=MOST_NODES,
        description="Frontends beyond the first, as far as there are nodes.",
    )
    nginx_container: Line = Field(default="nginx:1.27.4", description="Image of nginx, or its alias.")
    nginx_raise_ulimit: bool | None = Field(
        default=None, description="Raise nginx's limit of open files; default: from the cluster file."
    )
    nginx_session_affinity: bool = Field(
        default=False, description="Send the requests of one session to one frontend."
    )
    nginx_session_affinity_header: Line = Field(
        default="X-Dynamo-Session-ID", description="Header that names the session."
    )
    nginx_keepalive_timeout: Line = Field(
        default="600s", description="How long nginx keeps an idle connection."
    )
    ctx_router: dict[str, Any] | None = Field(
        default=None, description="trtllm_serve: router over the context servers."
    )
    gen_router: dict[str, Any] | None = Field(
        default=None, description="trtllm_serve: router over the generation servers."
    )
    server_config_extra: dict[str, Any] | None = Field(
        default=None, description="trtllm_serve: further keys of the server's configuration file."
    )
    container_image: Line | None = Field(
        default=None, description="Image of the frontend, or its alias; default: model.container."
    )
    numa_bind: bool = Field(default=False, description="Bind the frontend to NUMA node 0.")
    worker_selection: dict[str, Any] | None = Field(
        default=None, description="dynamo: policy of the router, written to a file of its own."
    )
