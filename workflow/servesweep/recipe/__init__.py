"""What people write: recipe sections as models, YAML with positions, variants."""
