"""The one error a user of the client sees as a sentence instead of a traceback."""


class LoadgenError(Exception):
    """The measurement could not be carried out; the message is one sentence for the user."""
