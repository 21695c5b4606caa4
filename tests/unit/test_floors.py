"""The rooms of the package stand on floors: lower ones never import upper ones."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "workflow" / "servesweep"

FLOORS = (
    {"recipe"},
    {"topology", "migration"},
    {"engines", "frontends", "services", "benchmarks"},
    {"plan"},
    {"evidence"},
    {"runtime"},
    {"cli", "__main__"},
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# They know files and URLs only, and nobody but the command line and those named here knows them.
BESIDE = {"compare", "loadgen", "report", "simulator", "status"}
ROOMS = set(FLOOR) | BESIDE
ALLOWED = {
    ("benchmarks", "servesweep.loadgen.spec"),
    # A comparison reads what the report can read.
    ("compare", "servesweep.report.imports"),
    # Files that a user names are written in one way.
    ("compare", "servesweep.report.atomic"),
}


def imported(source: str) -> Iterator[tuple[int, str]]:
    """Line and full name of every module that a source text imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            # `from servesweep import plan` imports a room too.
            names = [f"{module}.{name.name}" for name in node.names] if module == "servesweep" else [module]
            yield from ((node.lineno, "." * node.level + name) for name in names)


def faults(file: str, room: str, source: str) -> list[str]:
    """What a file of a room imports and may not, one sentence each."""
    found = []
    for line, module in imported(source):
        parts = module.split(".")
        other = parts[1] if len(parts) > 1 else ""
        if parts[0] == "snakemake":
            found.append(f"{file}:{line}: the package never imports snakemake")
        elif not parts[0]:
            found.append(f"{file}:{line}: {module} is relative; imports are absolute")
        elif parts[0] == "servesweep" and other in ROOMS - {room} and not may_import(room, other, module):
            found.append(f"{file}:{line}: {room} imports {module}, and {room} may not know {other}")
    return found


def may_import(room: str, other: str, module: str) -> bool:
    if room in ("cli", "__main__") or (room, module) in ALLOWED:
        return True
    if room in BESIDE or other in BESIDE:
        return False
    same_floor_is_fine = {("frontends", "engines")}  # both speak in flags
    return FLOOR[other] < FLOOR[room] or (room, other) in same_floor_is_fine


def files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def test_no_room_imports_what_stands_above_or_beside_it() -> None:
    found = [
        fault
        for path in files()
        for fault in faults(str(path.relative_to(PACKAGE)), room_of(path), path.read_text())
    ]
    assert not found, "\n".join(found)


def test_every_room_has_its_floor() -> None:
    assert {room_of(path) for path in files()} - ROOMS == set()


@pytest.mark.parametrize(
    ("room", "source", "expected"),
    [
        ("recipe", "\nfrom servesweep.plan.plan import Plan\n",
         "x.py:2: recipe imports servesweep.plan.plan"),
        ("migration", "from servesweep.topology.ports import PUBLIC", "migration may not know topology"),
        ("topology", "import servesweep.engines", "x.py:1: topology imports servesweep.engines"),
        ("engines", "from servesweep.frontends import FRONTENDS", "engines imports servesweep.frontends"),
        ("evidence", "from servesweep import runtime", "evidence imports servesweep.runtime"),
        ("plan", "def f():\n    from servesweep.evidence.files import RunFiles", "x.py:2: plan imports"),
        ("report", "from servesweep.evidence.files import RunFiles", "report may not know evidence"),
        ("status", "from servesweep.plan.plan import Plan", "status may not know plan"),
        ("runtime", "from servesweep.loadgen.spec import LoadSpec", "runtime may not know loadgen"),
        ("benchmarks", "from servesweep.loadgen.measure import measure", "benchmarks may not know loadgen"),
        ("cli", "from snakemake.utils import min_version", "x.py:1: the package never imports snakemake"),
        ("plan", "from .plan import Plan", "x.py:1: .plan is relative"),
    ],
)  # fmt: skip
def test_a_forbidden_import_is_told_with_its_line_and_both_rooms(
    room: str, source: str, expected: str
) -> None:
    (fault,) = faults("x.py", room, source)
    assert expected in fault


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("topology", "from servesweep.recipe.problems import Problem"),
        ("plan", "from servesweep import __version__"),
        ("plan", "from servesweep.plan.plan import Plan"),
        ("benchmarks", "from servesweep.loadgen.spec import LoadSpec"),
        ("frontends", "from servesweep.engines.flags import kebab"),
        ("cli", "from servesweep.report.write import write_report"),
        ("report", "import pandas"),
    ],
)
def test_a_floor_may_use_the_floors_below(room: str, source: str) -> None:
    assert faults("x.py", room, source) == []
