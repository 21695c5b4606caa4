"""What every imported row gets, whatever tool it comes from. Pure."""

from servesweep.report.columns import LATENCIES, Row
from servesweep.report.files import is_number
from servesweep.report.rows import complete, number


def finished(row: Row) -> Row:
    """Fill in what follows from the rest, and judge it: without a completed request nothing was measured."""
    medians = {f"median_{latency}_ms": f"p50_{latency}_ms" for latency in LATENCIES}
    for one, other in (*medians.items(), *((p50, median) for median, p50 in medians.items())):
        if row.get(one) is None:
            row[one] = row.get(other)
    total, output, inputs = (number(row, f"{kind}_throughput_tok_s") for kind in ("total", "output", "input"))
    if inputs is None and total is not None and output is not None:
        row["input_throughput_tok_s"] = total - output
    gpus, tpot = number(row, "total_gpus"), number(row, "median_tpot_ms")
    if output is not None and gpus:
        row["output_tok_s_per_gpu"] = output / gpus
    if tpot:
        row["output_tok_s_per_user"] = 1000 / tpot
    if row.get("point") is None and row.get("concurrency") is not None:
        row["point"] = f"c{row['concurrency']}"
    empty = row.get("requests_completed") == 0 or output == 0
    row |= {"status": "invalid", "reason": "nothing was completed"} if empty else {"status": "valid"}
    return complete(row)


def integer(value: object) -> int | None:
    """A whole number, also one that is written as text; None for anything else."""
    if isinstance(value, str) and value.isdigit():
        return int(value)
    return int(value) if is_number(value) else None


def product(tokens: object, gpus: object) -> float | None:
    """Tokens a second of a GPU times the GPUs; None where one of them is no number."""
    return float(tokens * gpus) if is_number(tokens) and is_number(gpus) else None
