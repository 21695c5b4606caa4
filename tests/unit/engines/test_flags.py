"""From a mapping of arguments to words of a command line."""

from servesweep.engines.flags import flags, kebab, named, owned, repeated


def test_flags_are_sorted_and_spelt_in_one_way() -> None:
    assert flags({"tp_size": 8, "a-b": "x", "trust_remote_code": True}) == [
        "--a-b", "x", "--tp-size", "8", "--trust-remote-code",
    ]  # fmt: skip


def test_false_and_null_are_left_out() -> None:
    assert flags({"a": False, "b": None, "c": 0, "d": ""}) == ["--c", "0", "--d", ""]


def test_a_list_gives_several_values_and_a_mapping_is_json() -> None:
    assert flags({"sizes": [1, 2.5, "x"], "config": {"a": [1, True], "b": None}}) == [
        "--config", '{"a":[1,true],"b":null}', "--sizes", "1", "2.5", "x",
    ]  # fmt: skip


def test_a_mapping_inside_a_list_is_json_too() -> None:
    assert flags({"many": [{"a": 1}]}) == ["--many", '{"a":1}']


def test_kebab_changes_nothing_else() -> None:
    assert kebab("mem_fraction-static") == "mem-fraction-static"
    assert kebab("camelCase") == "camelCase"


def test_owned_names_are_found_in_either_spelling_and_in_order() -> None:
    assert owned(["node_rank", "tp", "nnodes", "node-rank"], {"nnodes", "node-rank"}) == [
        "node_rank", "nnodes", "node-rank",
    ]  # fmt: skip


def test_a_name_in_both_spellings_is_found() -> None:
    assert repeated({"a_b": 1, "c": 2, "a-b": 3, "d_e": 4}) == [("a-b", "a_b")]
    assert repeated({"a_b": 1, "a": 2}) == []


def test_flags_of_a_command_line_by_name() -> None:
    assert named(["run", "--port=1", "--host", "h", "-x", "--", "--max_len"]) == ["port", "host", "max_len"]
