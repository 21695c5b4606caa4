"""The Pareto frontier of a set of measurements: pure geometry, no files."""

from collections.abc import Sequence


def frontier(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the indices of the points that no other point beats, from the smallest x to the largest.

    Both coordinates are better when larger. A point is beaten by one that is at least as good in both and
    better in one; equal points are all kept, in their given order.
    """
    best = float("-inf")
    kept: list[int] = []
    by_x = sorted(range(len(points)), key=lambda i: (-points[i][0], -points[i][1], i))
    for index in by_x:
        y = points[index][1]
        if y > best or (kept and points[index] == points[kept[-1]]):
            kept.append(index)
            best = y
    return sorted(kept, key=lambda i: (points[i][0], -points[i][1], i))
