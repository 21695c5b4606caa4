"""`custom` and `manual`: the user's own command, and a deployment that only serves."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytestmark = pytest.mark.long

ASK = "python3 -c \"import urllib.request as u; u.urlopen('http://$SRT_FRONTEND_HOST:$SRT_FRONTEND_PORT/health')\""


def test_a_custom_command_finds_the_deployment_and_leaves_its_metrics(quick: Any) -> None:
    command = ASK + """ && echo '{"answers_per_s": 12.5}' > "$SERVESWEEP_METRICS\""""
    quick.recipe(benchmark={"type": "custom", "command": command})
    done = quick.run()
    assert done.returncode == 0, done.stdout
    result = quick.json("points/custom/result.json")
    assert (result["valid"], result["metrics"]) == (True, {"answers_per_s": 12.5})
    assert quick.json("run.json")["points"] == ["custom"]


def test_a_custom_command_that_fails_is_no_result(quick: Any) -> None:
    quick.recipe(benchmark={"type": "custom", "command": "echo no luck; exit 3"})
    done = quick.run()
    failure = quick.json("failure.json")
    assert done.returncode == 1
    assert failure["message"] == "1 of 1 points not valid: custom (the command ended with code 3)"
    assert "no luck" in failure["tail"]
    assert not quick.exists("points/custom/result.json")


def test_manual_serves_for_the_time_that_was_asked(quick: Any) -> None:
    quick.recipe(benchmark={"type": "manual", "serve_seconds": 2})
    began = time.monotonic()
    done = quick.run()
    assert done.returncode == 0, done.stdout
    assert time.monotonic() - began > 2
    assert quick.json("points/manual/result.json")["duration_s"] >= 2
