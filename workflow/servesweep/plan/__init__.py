"""What a configuration resolves to, and the Slurm request for it."""
