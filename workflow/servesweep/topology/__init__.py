"""Geometry: nodes, GPUs and ports of a deployment, and the values that the floors above share."""
