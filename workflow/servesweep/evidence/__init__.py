"""What is kept so that a number can be trusted: snapshot of the resources, lockfile."""
