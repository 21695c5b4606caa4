"""nginx in front of several frontends: a step beside them, and its file."""

from __future__ import annotations

from servesweep.recipe.frontend import FrontendSection
from servesweep.topology.deployment import Command, Deployment

OPEN_FILES = 1048576
CONNECTIONS = 65536


def nginx(deployment: Deployment, section: FrontendSection, *, raise_ulimit: bool) -> Command:
    """Render nginx on the public port, and the file that tells it the frontends.

    Answers are streamed, so nothing is buffered, and a slow one is never taken for a dead frontend.
    """
    run = f"nginx -c {deployment.logs}/nginx.conf -g 'daemon off;'"
    script = f"ulimit -n {OPEN_FILES} && exec {run}" if raise_ulimit else f"exec {run}"
    if deployment.log_mount is None:
        # Users seldom have it on their path, and its node need not be the supervisor's.
        script = f'mkdir -p {deployment.binding.scratch} && PATH="$PATH:/usr/sbin" && {script}'
    text = nginx_conf(deployment, section, raise_ulimit=raise_ulimit)
    return Command(argv=("bash", "-c", script), files={f"{deployment.binding.logs}/nginx.conf": text})


def nginx_conf(deployment: Deployment, section: FrontendSection, *, raise_ulimit: bool) -> str:
    """The text of nginx.conf."""
    servers = [f"server {deployment.address(one.node)}:{one.port};" for one in deployment.frontends]
    # In a container /tmp is the process's own; bare, it is shared with other jobs.
    directory = "/tmp" if deployment.log_mount else deployment.binding.scratch
    temporary = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    lines = [
        "worker_processes auto;",
        *([f"worker_rlimit_nofile {OPEN_FILES};"] if raise_ulimit else []),
        f"pid {directory}/nginx.pid;",
        "error_log stderr;",
        f"events {{ worker_connections {CONNECTIONS}; }}",
        "http {",
        "  access_log off;",
        "  client_max_body_size 0;",
        *[f"  {name}_temp_path {directory}/nginx_{name};" for name in temporary],
        *_session(section),
        "  upstream frontends {",
        *(["    hash $session consistent;"] if section.nginx_session_affinity else []),
        *[f"    {server}" for server in servers],
        "    keepalive 1024;",
        "  }",
        "  server {",
        f"    listen {deployment.public_port};",
        f"    keepalive_timeout {section.nginx_keepalive_timeout};",
        "    location / {",
        "      proxy_pass http://frontends;",
        "      proxy_http_version 1.1;",
        '      proxy_set_header Connection "";',
        "      proxy_set_header Host $host;",
        "      proxy_buffering off;",
        "      proxy_request_buffering off;",
        "      proxy_read_timeout 24h;",
        "      proxy_send_timeout 24h;",
        "    }",
        "  }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _session(section: FrontendSection) -> list[str]:
    """The variable that names a request's session; a request without one is a session of its own."""
    if not section.nginx_session_affinity:
        return []
    header = f"$http_{section.nginx_session_affinity_header.lower().replace('-', '_')}"
    return [f"  map {header} $session {{ default {header}; '' $request_id; }}"]
