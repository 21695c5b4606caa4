import pytest

from servesweep.recipe.durations import parse_time_limit


@pytest.mark.parametrize(
    ("written", "minutes"),
    [
        (90, 90),
        ("90", 90),
        ("90:00", 90),
        ("0:30", 1),
        ("10:01", 11),
        ("01:30:00", 90),
        ("04:00:00", 240),
        ("4:00:01", 241),
        ("100:00:00", 6000),
        ("1-12", 36 * 60),
        ("1-12:30", 36 * 60 + 30),
        ("1-12:30:01", 36 * 60 + 31),
        ("0-00:00:01", 1),
        (" 2:00:00 ", 120),
    ],
)
def test_every_slurm_form_is_minutes_rounded_up(written: object, minutes: int) -> None:
    assert parse_time_limit(written) == minutes


@pytest.mark.parametrize("written", ["UNLIMITED", "infinite", "-1", -1])
def test_no_limit_at_all_is_refused_with_the_reason(written: object) -> None:
    with pytest.raises(ValueError, match="must end by itself before the limit"):
        parse_time_limit(written)


@pytest.mark.parametrize("written", [0, "0", "00:00:00", "0-0"])
def test_nothing_is_no_time_limit(written: object) -> None:
    with pytest.raises(ValueError, match="at least one minute"):
        parse_time_limit(written)


@pytest.mark.parametrize("written", ["99999-00:00:00", "35791393:01", 35791394])
def test_more_than_slurm_can_count_is_refused(written: object) -> None:
    assert parse_time_limit("24855-03:13:00") == parse_time_limit(35791393) == 35791393
    with pytest.raises(
        ValueError, match=r"is more than the 35791393 minutes \(24855 days\) that Slurm can count"
    ):
        parse_time_limit(written)


@pytest.mark.parametrize(
    "written", ["4h", "1:2:3:4", "1-", "-5", "-1:00", "", "1-2-3", "12:", "1.5", "½", "٣", -90, "9" * 5000]
)
def test_other_text_is_refused_and_the_forms_are_named(written: object) -> None:
    with pytest.raises(ValueError, match=r'is not a time limit; write "90"'):
        parse_time_limit(written)


@pytest.mark.parametrize(
    ("written", "shown"),
    [(True, "true"), (1.5, "1.5"), (None, "nothing"), ([1], "a list"), ({}, "a mapping")],
)
def test_other_types_are_refused(written: object, shown: str) -> None:
    with pytest.raises(ValueError, match=f"expected a time limit.*got {shown}"):
        parse_time_limit(written)
