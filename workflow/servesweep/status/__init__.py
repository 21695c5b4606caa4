"""What a sweep is doing right now: read from its files, and Slurm's word on its jobs."""
