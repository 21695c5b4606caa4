"""Streaming benchmark client: sends one load level to an OpenAI-compatible URL and writes what it measured.

It knows URLs and files, and nothing of recipes, plans or allocations.
"""
