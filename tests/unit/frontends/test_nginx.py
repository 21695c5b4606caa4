"""nginx in front of several frontends: where they stand, and the file that nginx reads."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import require

from servesweep.plan.plan import Plan, Step

PD = "engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: 3, workers: 3}}\n"
NGINX = Path("/usr/sbin/nginx")


def frontends(found: Plan) -> dict[str, tuple[str, str]]:
    """Name of each frontend's step to its node and command."""
    steps = [step for step in found.steps if step.kind == "frontend"]
    return {step.name: (step.node, " ".join(step.command.argv)) for step in steps}


def test_with_containers_frontends_stand_on_the_nodes_beside_nginx(plan: Callable[..., Plan]) -> None:
    found = plan(PD + "frontend: {num_additional_frontends: 1}\n", container_runtime="pyxis")
    assert frontends(found) == {
        "nginx": ("n0", "bash -c exec nginx -c /logs/nginx.conf -g 'daemon off;'"),
        "frontend_0": ("n1", "python3 -m dynamo.frontend --http-port=8180"),
        "frontend_1": ("n2", "python3 -m dynamo.frontend --http-port=8180"),
    }
    assert found.public is not None
    assert (found.public.node, found.public.port) == ("n0", 8000)
    nginx = next(step for step in found.steps if step.name == "nginx")
    assert nginx.image == "nginx:1.27.4"
    assert nginx.srun_options == {"container-remap-root": ""}


@pytest.mark.parametrize(
    ("text", "site"),
    [
        (PD, {"container_runtime": "none"}),
        (PD + "frontend: {enable_multiple_frontends: false}\n", {"container_runtime": "pyxis"}),
        ("engine: sglang\nroles: {agg: {nodes: 1}}\n", {"container_runtime": "pyxis"}),
    ],
)
def test_otherwise_one_frontend_is_public_itself(
    plan: Callable[..., Plan], text: str, site: dict[str, str]
) -> None:
    assert frontends(plan(text, **site)) == {
        "frontend_0": ("n0", "python3 -m dynamo.frontend --http-port=8000")
    }


def test_bare_a_recipe_asks_for_several_and_nginx_is_the_node_s_own(plan: Callable[..., Plan]) -> None:
    text = PD + "frontend: {enable_multiple_frontends: true, num_additional_frontends: 0}\n"
    found = plan(text)
    script = (
        "mkdir -p <SCRATCH> && PATH=\"$PATH:/usr/sbin\" && exec nginx -c <LOGS>/nginx.conf -g 'daemon off;'"
    )
    assert frontends(found) == {
        "nginx": ("n0", f"bash -c {script}"),
        "frontend_0": ("n1", "python3 -m dynamo.frontend --http-port=8180"),
    }
    nginx = next(step for step in found.steps if step.name == "nginx")
    assert (nginx.image, nginx.srun_options) == (None, {})
    # One machine has one frontend.
    assert frontends(plan(text, launcher="local")) == {
        "frontend_0": ("n0", "python3 -m dynamo.frontend --http-port=8000")
    }


def test_several_routers_get_the_same_workers(plan: Callable[..., Plan]) -> None:
    found = plan(PD + "frontend: {type: sglang-router}\n", container_runtime="pyxis")
    router = (
        "python3 -m sglang_router.launch_router --pd-disaggregation --prefill http://ip-n0:6100 7200"
        " --decode http://ip-n1:6100 --decode http://ip-n2:6100 --decode http://ip-n3:6100"
        " --host 0.0.0.0 --port 8180 --disable-retries"
    )
    assert [words for name, (_, words) in frontends(found).items() if name != "nginx"] == [router] * 3


def nginx_of(found: Plan) -> Step:
    return next(step for step in found.steps if step.name == "nginx")


def test_its_file(plan: Callable[..., Plan]) -> None:
    (text,) = nginx_of(plan(PD, container_runtime="pyxis")).command.files.values()
    assert text == (
        "worker_processes auto;\n"
        "pid /tmp/nginx.pid;\n"
        "error_log stderr;\n"
        "events { worker_connections 65536; }\n"
        "http {\n"
        "  access_log off;\n"
        "  client_max_body_size 0;\n"
        "  client_body_temp_path /tmp/nginx_client_body;\n"
        "  proxy_temp_path /tmp/nginx_proxy;\n"
        "  fastcgi_temp_path /tmp/nginx_fastcgi;\n"
        "  uwsgi_temp_path /tmp/nginx_uwsgi;\n"
        "  scgi_temp_path /tmp/nginx_scgi;\n"
        "  upstream frontends {\n"
        "    server ip-n1:8180;\n"
        "    server ip-n2:8180;\n"
        "    server ip-n3:8180;\n"
        "    keepalive 1024;\n"
        "  }\n"
        "  server {\n"
        "    listen 8000;\n"
        "    keepalive_timeout 600s;\n"
        "    location / {\n"
        "      proxy_pass http://frontends;\n"
        "      proxy_http_version 1.1;\n"
        '      proxy_set_header Connection "";\n'
        "      proxy_set_header Host $host;\n"
        "      proxy_buffering off;\n"
        "      proxy_request_buffering off;\n"
        "      proxy_read_timeout 24h;\n"
        "      proxy_send_timeout 24h;\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


AFFINITY = (
    "frontend: {nginx_session_affinity: true, nginx_raise_ulimit: true, nginx_keepalive_timeout: 30s}\n"
)


def test_sessions_and_open_files(plan: Callable[..., Plan]) -> None:
    step = nginx_of(plan(PD + AFFINITY, container_runtime="pyxis"))
    assert step.command.argv[2] == "ulimit -n 1048576 && exec nginx -c /logs/nginx.conf -g 'daemon off;'"
    (text,) = step.command.files.values()
    assert "worker_rlimit_nofile 1048576;\n" in text
    assert (
        "  map $http_x_dynamo_session_id $session { default $http_x_dynamo_session_id; '' $request_id; }\n"
        in text
    )
    assert "    hash $session consistent;\n" in text
    assert "    keepalive_timeout 30s;\n" in text


@pytest.mark.parametrize("more", ["", AFFINITY])
def test_nginx_takes_the_file(plan: Callable[..., Plan], tmp_path: Path, more: str) -> None:
    program = shutil.which("nginx") or (str(NGINX) if NGINX.exists() else None)
    require("nginx", program is not None, "apt-get install nginx")
    assert program is not None
    (text,) = nginx_of(plan(PD + more, container_runtime="pyxis")).command.files.values()
    file = tmp_path / "nginx.conf"
    for node in ("n1", "n2", "n3"):
        text = text.replace(f"ip-{node}", "127.0.0.1")
    file.write_text(text.replace("/tmp/", f"{tmp_path}/"))
    checked = subprocess.run([program, "-t", "-c", file], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
