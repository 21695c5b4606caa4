"""Slurm time limits as whole minutes."""

from __future__ import annotations

import re

from servesweep.recipe.problems import shown

FORMS = '"90" or 90 (minutes), "90:00", "01:30:00", "1-12", "1-12:30" or "1-12:30:00"'
UNLIMITED = frozenset({"unlimited", "infinite", "infinity", "-1"})
# Slurm (22.05, time_str2mins) counts seconds in 32 bits, and rounds up: 99999 days are 578 to it, silently.
MOST_MINUTES = (2**31 - 60) // 60
PLAIN = re.compile(r"(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)
WITH_DAYS = re.compile(r"(\d{1,9})-(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)


def parse_time_limit(value: object) -> int:
    """Read a time limit in any form that Slurm accepts; minutes, seconds rounded up.

    Forms: minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes,
    days-hours:minutes:seconds (https://slurm.schedmd.com/sbatch.html, `--time`). As in Slurm, a
    field may exceed its clock range: "90:00" is 90 minutes.

    Raises:
        ValueError: with one sentence, for anything else, for nothing or less, for no limit at all, and for
            more than Slurm can count.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"expected a time limit such as {FORMS}, got {shown(value)}")
    text = str(value).strip()
    if text.lower() in UNLIMITED:
        raise ValueError(
            f"{text} is refused: the run must end by itself before the limit, so it needs a finite one"
        )
    seconds = _seconds(text)
    if seconds is None:
        raise ValueError(f"{text!r} is not a time limit; write {FORMS}")
    if seconds == 0:
        raise ValueError(f"{text!r} leaves no time: a time limit is at least one minute")
    minutes = -(-seconds // 60)
    if minutes > MOST_MINUTES:
        raise ValueError(
            f"{text!r} is more than the {MOST_MINUTES} minutes (24855 days) that Slurm can count; beyond them"
            " it takes another limit without a word"
        )
    return minutes


def _seconds(text: str) -> int | None:
    """Seconds of one of Slurm's forms; None when the text is none of them."""
    if found := WITH_DAYS.fullmatch(text):
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if found := PLAIN.fullmatch(text):
        first, second, third = found.groups()
        if third is not None:
            return (int(first) * 60 + int(second)) * 60 + int(third)
        return int(first) * 60 + int(second or 0)
    return None
