"""docs/simulator.md names every argument and every fault that a recipe can give the simulator."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from servesweep.engines.simulator import Simulator
from servesweep.simulator.command_line import parse_command_line
from servesweep.simulator.faults import FAULT_FORMS
from servesweep.simulator.options import SimulatorOptions

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "simulator.md").read_text()
ROW = re.compile(r"^\| `([^`]+)` \| (.*) \|$", re.MULTILINE)


def test_every_argument_of_a_recipe_stands_on_the_page_with_its_default() -> None:
    expected = []
    for name, field in SimulatorOptions.model_fields.items():
        default = f"`{field.default:g}`" if isinstance(field.default, int | float) else ""
        expected.append((name.replace("_", "-"), f"{default} | {field.description}"))
    told = ROW.findall(PAGE.partition("## Faults")[0])
    reserved = {"faults", *Simulator.reserved}
    assert told[:-1] == [(name, meaning) for name, meaning in expected if name not in reserved]
    assert told[-1][0] == "fault"


@pytest.mark.parametrize("name", sorted(Simulator.reserved))
def test_what_the_plan_decides_is_named(name: str) -> None:
    assert f"`{name}`" in PAGE.partition("## Faults")[0]


def test_every_fault_stands_on_the_page_in_its_form() -> None:
    assert tuple(form for form, _ in ROW.findall(PAGE.partition("## Faults")[2])) == FAULT_FORMS


def test_the_example_is_read() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    args = yaml.safe_load(text)["roles"]["agg"]["args"]
    words = [word for name, value in args.items() for word in (f"--{name}", str(value))]
    found = parse_command_line(["--model-name", "tiny", *words])
    assert (found.ttft_ms, found.faults.error_fraction) == (40.0, 0.01)
