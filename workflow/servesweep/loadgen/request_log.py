"""The log of single requests kept beside a result: from it every number of the result can be recomputed."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from servesweep.loadgen.record import RequestRecord

SCHEMA = pa.schema(
    [
        pa.field("index", pa.int64(), metadata={"is": "number of the request in the point's order"}),
        pa.field("status", pa.string(), metadata={"is": "ok, or the category of the failure"}),
        pa.field("detail", pa.string(), metadata={"is": "what the server said of a failure, an excerpt"}),
        pa.field("model", pa.string(), metadata={"is": "model name in the answer"}),
        pa.field("sent_s", pa.float64(), metadata={"is": "when it was sent, after the first one was"}),
        pa.field("ended_s", pa.float64(), metadata={"is": "when its answer had ended or it had failed"}),
        pa.field("asked_input_tokens", pa.int64(), metadata={"is": "tokens of the prompt as sent"}),
        pa.field("asked_output_tokens", pa.int64(), metadata={"is": "max_tokens"}),
        pa.field("input_tokens", pa.int64(), metadata={"is": "the server's count, else as sent"}),
        pa.field("output_tokens", pa.int64(), metadata={"is": "the server's count, else the chunks"}),
        pa.field("arrivals_s", pa.list_(pa.float64()), metadata={"is": "when each chunk of content came"}),
        pa.field("ttft_ms", pa.float64(), metadata={"is": "first arrival - sent; null when it failed"}),
        pa.field("tpot_ms", pa.float64(), metadata={"is": "(last - first arrival) / (output tokens - 1)"}),
        pa.field("e2el_ms", pa.float64(), metadata={"is": "last arrival - sent; null when it failed"}),
    ]
)


def request_log(records: Sequence[RequestRecord]) -> bytes:
    """Parquet of `SCHEMA`, one row a request; times are seconds after the first request was sent."""
    first = min((record.sent for record in records), default=0.0)
    table = pa.Table.from_pylist([_row(record, first) for record in records], schema=SCHEMA)
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _row(record: RequestRecord, first: float) -> dict[str, object]:
    row: dict[str, object] = {
        "index": record.index,
        "status": record.status,
        "detail": record.detail,
        "model": record.model,
        "sent_s": record.sent - first,
        "ended_s": record.ended - first,
        "asked_input_tokens": record.asked_input,
        "asked_output_tokens": record.asked_output,
        "input_tokens": record.input_tokens,
        "output_tokens": record.output_tokens,
        "arrivals_s": [at - first for at in record.arrivals],
    }
    if record.ok:
        tpot = record.tpot_s
        row |= {
            "ttft_ms": record.ttft_s * 1e3,
            "tpot_ms": None if tpot is None else tpot * 1e3,
            "e2el_ms": record.e2el_s * 1e3,
        }
    return row
