"""v1 recipes become `schema: 2`, with their comments, order, quotes and spacing."""
