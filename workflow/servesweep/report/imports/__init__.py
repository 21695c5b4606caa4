"""Result files of other tools, and our own tables, as the rows of one table."""

from servesweep.report.imports.read import UnreadableError, read_rows

__all__ = ["UnreadableError", "read_rows"]
