"""Routers do not retry, unless the recipe says so: a retried request hides the worker that failed it."""

import pytest

from servesweep.frontends.rust_router import retry_flags


@pytest.mark.parametrize(
    ("args", "flags"),
    [
        ({}, ["--disable-retries"]),
        ({"policy": "round_robin"}, ["--disable-retries"]),
        ({"retry-max-retries": 3}, []),
        ({"retry_max_retries": 3}, []),
        ({"disable-retries": False}, []),
        ({"disable_retries": True}, []),
    ],
)
def test_the_recipe_has_the_last_word(args: dict[str, object], flags: list[str]) -> None:
    assert retry_flags(args) == flags
