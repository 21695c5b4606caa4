"""Topology and Placement, "critical" and "restart": what can be checked before a job runs."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest

from servesweep.plan.plan import plan_text

PD = "roles: {prefill: {nodes: 1}, decode: {nodes: 1}}\n"


class TestCritical:
    def test_the_example_and_the_default(self, read: Any, workers: Any) -> None:
        plan = read.plan(
            "engine: sglang\nroles:\n  prefill: {nodes: 1}\n  decode:\n    nodes: 1\n    workers: 4\n"
            "    critical: false            # a decode worker exiting does not end the run\n"
        )
        assert {step.critical for step in workers(plan, "prefill")} == {True}
        assert {step.critical for step in workers(plan, "decode")} == {False}

    def test_the_health_gate_still_requires_every_worker(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nroles: {agg: {nodes: 1, workers: 4, critical: false}}\n")
        assert plan.expected.decode == 4

    def test_it_is_a_boolean(self, read: Any) -> None:
        said = read.refusal("engine: sglang\nroles: {agg: {nodes: 1, critical: maybe}}\n")
        assert said == "roles.agg.critical: expected true or false, got 'maybe'"

    def test_each_role_says_it_for_itself(self, read: Any, workers: Any) -> None:
        roles = "roles: {prefill: {nodes: 2, critical: false}, decode: {nodes: 1, critical: true}}\n"
        plan = read.plan("engine: sglang\n" + roles)
        assert {step.name: step.critical for step in plan.steps} == {
            "etcd": True, "prefill_0": False, "prefill_0_r1": False, "decode_0": True, "frontend_0": True,
        }  # fmt: skip

    def test_the_gate_counts_workers_of_both_roles_all_the_same(self, read: Any) -> None:
        plan = read.plan(
            "engine: sglang\n"
            "roles: {prefill: {nodes: 1, workers: 2}, decode: {nodes: 1, workers: 4, critical: false}}\n"
        )
        assert (plan.expected.prefill, plan.expected.decode) == (2, 4)

    @pytest.mark.parametrize("written", ["no", "'false'", "0", "[false]"])
    def test_what_only_looks_like_false_is_refused(self, read: Any, written: str) -> None:
        said = read.complaint(f"engine: sglang\nroles:\n  agg:\n    nodes: 1\n    critical: {written}\n")
        assert said.startswith("recipe.yaml:8: roles.agg.critical: expected true or false, got ")


class TestRestart:
    EXAMPLE = """\
engine: sglang
roles:
  decode:
    nodes: 1
    workers: 4
    restart: on-failure          # relaunch a decode worker that exits non-zero
  prefill:
    nodes: 1
    workers: 2
    restart:
      policy: always             # relaunch after any exit, clean or not
      max_restarts: 5            # per worker, over the whole job (default 3)
      backoff_seconds: 10        # first delay; doubles on each relaunch (default 10)
      max_backoff_seconds: 120   # cap on the doubled delay (default 300)
"""

    def test_the_example(self, read: Any) -> None:
        roles = read.plan(self.EXAMPLE).resolved.roles
        assert roles.decode.restart.model_dump() == {
            "policy": "on-failure", "max_restarts": 3, "backoff_seconds": 10, "max_backoff_seconds": 300,
        }  # fmt: skip
        assert roles.prefill.restart.model_dump() == {
            "policy": "always", "max_restarts": 5, "backoff_seconds": 10, "max_backoff_seconds": 120,
        }  # fmt: skip

    def test_it_is_off_by_default(self, read: Any) -> None:
        assert read.plan("engine: sglang\n" + PD).resolved.roles.decode.restart.policy == "never"

    def test_the_delay_doubles_up_to_its_cap(self, read: Any) -> None:
        restart = read.plan(self.EXAMPLE).resolved.roles.prefill.restart
        assert [restart.delay(attempt) for attempt in range(1, 7)] == [10, 20, 40, 80, 120, 120]

    @pytest.mark.parametrize(
        ("written", "sentence"),
        [
            ("on_failure", "restart: expected never, on-failure or always, got 'on_failure';"
             " did you mean on-failure?"),
            ("{policy: always, max_restarts: -1}", "restart.max_restarts: expected a number from 0, got -1"),
            ("{policy: always, retries: 1}", "restart.retries: unknown key"),
            ("{backoff_seconds: 400}",
             "restart.max_backoff_seconds: the cap of 300 s lies below the first delay"),
        ],
    )  # fmt: skip
    def test_what_is_wrong(self, read: Any, written: str, sentence: str) -> None:
        said = read.refusal(f"engine: sglang\nroles: {{agg: {{nodes: 1, restart: {written}}}}}\n")
        assert said.startswith(f"roles.agg.{sentence}")

    DEFAULTS: ClassVar[dict[str, Any]] = {
        "policy": "never", "max_restarts": 3, "backoff_seconds": 10, "max_backoff_seconds": 300,
    }  # fmt: skip

    @pytest.mark.parametrize(
        ("written", "said"),
        [
            ("never", {}),
            ("on-failure", {"policy": "on-failure"}),
            ("always", {"policy": "always"}),
            ("{}", {}),
            ("{policy: always}", {"policy": "always"}),
            ("{policy: on-failure, max_restarts: 0}", {"policy": "on-failure", "max_restarts": 0}),
            ("{policy: always, max_restarts: 5}", {"policy": "always", "max_restarts": 5}),
            ("{policy: always, backoff_seconds: 0.5}", {"policy": "always", "backoff_seconds": 0.5}),
            ("{policy: always, max_backoff_seconds: 20}", {"policy": "always", "max_backoff_seconds": 20}),
        ],
    )
    def test_a_word_or_a_mapping_whose_other_keys_have_defaults(
        self, read: Any, written: str, said: dict[str, Any]
    ) -> None:
        plan = read.plan(f"engine: sglang\nroles: {{agg: {{nodes: 1, restart: {written}}}}}\n")
        assert plan.resolved.roles.agg.restart.model_dump() == {**self.DEFAULTS, **said}

    def test_all_four_values_stand_in_the_plan_file(self, read: Any) -> None:
        data = json.loads(plan_text(read.plan(self.EXAMPLE)))
        assert data["resolved"]["roles"]["decode"]["restart"] == {**self.DEFAULTS, "policy": "on-failure"}

    def test_it_is_each_role_s_own(self, read: Any) -> None:
        plan = read.plan(
            "engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: 1, restart: always}}\n"
        )
        roles = plan.resolved.roles
        assert (roles.prefill.restart.policy, roles.decode.restart.policy) == ("never", "always")

    def test_the_default_delays_double_to_the_default_cap(self, read: Any) -> None:
        restart = read.plan(self.EXAMPLE).resolved.roles.decode.restart
        assert [restart.delay(attempt) for attempt in range(1, 8)] == [10, 20, 40, 80, 160, 300, 300]

    @pytest.mark.parametrize(
        ("written", "sentence"),
        [
            ("sometimes", ": expected never, on-failure or always, got 'sometimes'"),
            ("onfailure",
             ": expected never, on-failure or always, got 'onfailure'; did you mean on-failure?"),
            ("true", ": expected never, on-failure or always, or a mapping with policy, got true"),
            ("3", ": expected never, on-failure or always, or a mapping with policy, got 3"),
            ("[always]", ": expected never, on-failure or always, or a mapping with policy, got a list"),
            ("", ": the key has no value: write one, or remove the key"),
            ("{policy: alway}",
             ".policy: expected never, on-failure or always, got 'alway'; did you mean always?"),
            ("{policy: }", ".policy: the key has no value: write one, or remove the key"),
            ("{max_restarts: -1}", ".max_restarts: expected a number from 0, got -1"),
            ("{max_restarts: 1.5}", ".max_restarts: expected a whole number, got 1.5"),
            ("{max_restarts: many}", ".max_restarts: expected a whole number, got 'many'"),
            ("{max_restart: 1}", ".max_restart: unknown key; did you mean max_restarts?"),
            ("{backoff_seconds: -1}", ".backoff_seconds: expected a number from 0, got -1"),
            ("{backoff_seconds: 10s}", ".backoff_seconds: expected a number, got '10s'"),
            ("{backoff: 1}", ".backoff: unknown key; did you mean backoff_seconds?"),
            ("{max_backoff_seconds: -1}", ".max_backoff_seconds: expected a number from 0, got -1"),
            ("{max_backoff_seconds: soon}", ".max_backoff_seconds: expected a number, got 'soon'"),
            ("{max_backoff_seconds: 5}",
             ".max_backoff_seconds: the cap of 5 s lies below the first delay of 10 s:"
             " raise it, or lower backoff_seconds"),
        ],
    )  # fmt: skip
    def test_each_key_has_its_own_fault_with_its_line(self, read: Any, written: str, sentence: str) -> None:
        said = read.complaint(f"engine: sglang\nroles:\n  agg:\n    nodes: 1\n    restart: {written}\n")
        assert said == f"recipe.yaml:8: roles.agg.restart{sentence}"
