"""The simulator: an OpenAI-compatible streaming server with exact timing, for the demo and for tests."""
