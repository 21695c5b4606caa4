from servesweep.report.pareto import frontier


def test_keeps_what_nothing_beats_from_slow_to_fast():
    points = [(100.0, 10.0), (50.0, 30.0), (60.0, 20.0), (55.0, 15.0), (20.0, 40.0)]
    assert frontier(points) == [4, 1, 2, 0]


def test_a_point_beaten_in_one_coordinate_and_equal_in_the_other_is_out():
    assert frontier([(10.0, 5.0), (10.0, 6.0)]) == [1]
    assert frontier([(10.0, 5.0), (11.0, 5.0)]) == [1]


def test_equal_points_stay_together():
    assert frontier([(10.0, 5.0), (1.0, 1.0), (10.0, 5.0)]) == [0, 2]


def test_one_point_is_its_own_frontier_and_none_has_none():
    assert frontier([(3.0, 4.0)]) == [0]
    assert frontier([]) == []
