"""The pairs of measures that the Pareto chart can show, and which way each is better."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

X, Y = "output_tok_s_per_user", "output_tok_s_per_gpu"


@dataclass(frozen=True)
class View:
    """One Pareto chart: two columns of the table; `x_less`, `y_less`: a smaller value is better."""

    key: str
    label: str
    x: str
    y: str
    x_title: str
    y_title: str
    x_less: bool = False
    y_less: bool = False

    @property
    def better(self) -> str:
        """Where the good points lie."""
        return f"{'Down' if self.y_less else 'Up'} and to the {'left' if self.x_less else 'right'} is better."


PER_GPU = View("gpu", "output tok/s/GPU", X, Y, "output tok/s/user", "output tok/s/GPU")
VIEWS = (
    PER_GPU,
    View(
        "total",
        "total tok/s/GPU",
        X,
        "total_tok_s_per_gpu",
        "output tok/s/user",
        "input and output tok/s/GPU",
    ),
    View(
        "e2e",
        "E2E latency",
        "p50_e2el_ms",
        Y,
        "median end-to-end latency (ms)",
        "output tok/s/GPU",
        x_less=True,
    ),
    View(
        "cost",
        "cost",
        X,
        "cost_usd_per_million_output_tokens",
        "output tok/s/user",
        "$ per million output tokens",
        y_less=True,
    ),
)


def shown_views(records: Iterable[Mapping[str, object]]) -> list[View]:
    """Return the views of which some record has both measures."""
    known = [{key for key, value in record.items() if value is not None} for record in records]
    return [view for view in VIEWS if any({view.x, view.y} <= keys for keys in known)]
