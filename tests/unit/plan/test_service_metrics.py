"""Ports on which services offer metrics are theirs alone, as all ports are."""

from collections.abc import Callable

from servesweep.plan.plan import Plan

AGG = "engine: sglang\nroles: {agg: {nodes: 1}}\nfrontend: {type: sglang-router}\n"


def test_a_worker_s_port_is_no_port_of_metrics(complaint: Callable[..., str]) -> None:
    found = complaint(AGG + "services: [{name: a, command: [x], metrics: {port: 6100}}]\n")
    assert found == "demo.yaml:7: services[0]: a and agg_0 both listen on port 6100 of n0"


def test_a_port_may_offer_metrics_and_readiness(plan: Callable[..., Plan]) -> None:
    plan(AGG + "services: [{name: a, command: [x], metrics: {port: 9000}, readiness: {port: 9000}}]\n")
