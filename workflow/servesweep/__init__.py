"""Benchmark sweeps of LLM serving on Slurm, as a Snakemake workflow."""

from __future__ import annotations

__version__ = "0.1.0"
