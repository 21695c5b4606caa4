"""Tables, charts and one self-contained page from the result files of a sweep; knows no runtime."""

from servesweep.report.terminal import summary_table
from servesweep.report.write import ReportSummary, write_report

__all__ = ["ReportSummary", "summary_table", "write_report"]
