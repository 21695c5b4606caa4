"""Upper bounds of counts: far beyond any cluster of today, and within what a plan can hold."""

from __future__ import annotations

MOST_NODES = 10_000
MOST_GPUS_OF_A_NODE = 1024
MOST_GPUS = 100_000
MOST_WORKERS = 10_000
MOST_POINTS = 10_000
MOST_REQUESTS = 100_000_000  # of one point
MOST_IN_FLIGHT = 1_000_000
MOST_TOKENS = 100_000_000  # of one prompt, or of one answer
LARGEST_SEED = 2**63 - 1
MOST_MEGABYTES = 2**63 - 1  # sbatch reads no larger number
A_DAY = 86_400  # seconds
A_WEEK = 7 * A_DAY
