"""What a GPU costs for an hour: the cluster file's `gpu_hour_price`."""

from collections.abc import Mapping

# GPU model to dollars for an hour of one.
Prices = Mapping[str, float]


def price_of(gpu_type: str | None, prices: Prices) -> float | None:
    """Dollars for an hour of one GPU of a model, in capitals or not; None where nobody says it."""
    known = {model.casefold(): price for model, price in prices.items()}
    return known.get((gpu_type or "").casefold())
