"""What happens inside an allocation: processes, supervision, the health gate, the run itself."""
