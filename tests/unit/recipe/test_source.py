import math
from pathlib import Path

import pytest

from servesweep.recipe.problems import Problem, RecipeError, dotted, nearest
from servesweep.recipe.source import FaultyDocumentError, load, parse, parse_value


def value(text: str) -> object:
    return parse(f"key: {text}\n", "r.yaml").data["key"]


def complaint(text: str) -> str:
    with pytest.raises(RecipeError) as caught:
        parse(text, "r.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    "text", ["on", "no", "yes", "Off", "y", "12:00:00", "2024-01-01", "1_000", "0b11", "1e", "=", "-"]
)
def test_text_that_yaml_1_1_would_change_stays_text(text: str) -> None:
    if text == "-":
        text = '"-"'
    assert value(text) == text.strip('"')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("012", 12),
        ("-7", -7),
        ("+3", 3),
        ("1e-5", 1e-5),
        ("1.5e3", 1500.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("true", True),
        ("TRUE", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("'012'", "012"),
        ("!!str 12", "12"),
        ("!!float 3", 3.0),
        ("[1, a, 0.5]", [1, "a", 0.5]),
        ("{a: {b: 1}}", {"a": {"b": 1}}),
    ],
)
def test_core_schema_of_yaml_1_2(text: str, expected: object) -> None:
    got = value(text)
    assert got == expected
    assert isinstance(got, type(expected))


def test_not_a_number_is_a_float() -> None:
    got = value(".nan")
    assert isinstance(got, float)
    assert math.isnan(got)


def test_every_key_path_has_its_line() -> None:
    document = parse("a: 1\nroles:\n  decode:\n    args: [x,\n      y]\n\nlast: |\n  text\n", "r.yaml")
    assert document.lines == {
        (): 1,
        ("a",): 1,
        ("roles",): 2,
        ("roles", "decode"): 3,
        ("roles", "decode", "args"): 4,
        ("roles", "decode", "args", 0): 4,
        ("roles", "decode", "args", 1): 5,
        ("last",): 7,
    }


def test_a_missing_path_has_the_line_of_its_nearest_ancestor() -> None:
    document = parse("a: 1\nroles:\n  decode: {}\n", "r.yaml")
    assert document.line(("roles", "decode", "workers")) == 3
    assert document.line(("roles", "prefill", "workers")) == 2
    assert document.line(("nothing",)) == 1
    assert (
        str(document.problem(("roles", "decode", "args", 0), "is odd"))
        == "r.yaml:3: roles.decode.args[0]: is odd"
    )


def test_anchors_and_merge_keys() -> None:
    text = "x: &x {a: 1, b: 2}\ny: &y\n  b: 3\n  c: 4\nz:\n  b: 9\n  <<: [*x, *y]\nw: *x\n"
    document = parse(text, "r.yaml")
    assert document.data["z"] == {"a": 1, "b": 9, "c": 4}
    assert document.data["w"] == {"a": 1, "b": 2}
    assert document.line(("z", "c")) == 4
    assert document.data["w"] is not document.data["x"]


def test_a_merged_block_may_itself_merge() -> None:
    text = "x: &x {a: 1, b: 1}\ny: &y\n  <<: *x\n  b: 2\nz:\n  <<: *y\n  c: 3\n"
    assert parse(text, "r.yaml").data["z"] == {"a": 1, "b": 2, "c": 3}


def test_a_key_given_twice_beside_a_merged_one_is_a_fault() -> None:
    text = "x: &x {a: 1}\nz:\n  a: 2\n  <<: *x\n  a: 3\n"
    assert complaint(text) == "r.yaml:5: z.a: duplicate key, first given on line 3"


@pytest.mark.parametrize("text", ["a: {<<: 1}", "a: {<<: [1]}"])
def test_merging_a_value_is_refused(text: str) -> None:
    assert "`<<` takes a mapping" in complaint(text)


def test_duplicate_keys_name_both_lines() -> None:
    assert complaint("a: 1\nb:\n  c: 1\n  c: 2\n") == "r.yaml:4: b.c: duplicate key, first given on line 3"


def test_every_fault_is_reported_at_once() -> None:
    assert len(complaint("a: 1\na: 2\nb: 1\nb: 2\n8: x\n").splitlines()) == 3


@pytest.mark.parametrize(
    ("key", "kind"), [("8", "int"), ("true", "bool"), ("1.5", "float"), ("~", "null"), ("null", "null")]
)
def test_keys_that_are_no_text_are_refused_with_the_remedy(key: str, kind: str) -> None:
    assert complaint(f"env:\n  {key}: x\n") == (
        f'r.yaml:2: env.{key}: this key reads as {kind}, not as text; write it in quotes: "{key}"'
    )


def test_a_list_as_key_is_refused() -> None:
    assert complaint("? [a, b]\n: 1\n") == "r.yaml:1: a key is a list or a mapping; write plain text"
    tagged = "? !!str [a]\n: 1\n<<: {b: 2}\n"
    assert complaint(tagged) == "r.yaml:1: a key is a list or a mapping; write plain text"


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n"])
def test_an_empty_file(text: str) -> None:
    assert complaint(text) == "r.yaml: the file is empty"


@pytest.mark.parametrize(
    ("text", "kind"), [("- a\n- b\n", "a list"), ("\nhello\n", "a single value"), ("''", "a single")]
)
def test_the_top_level_is_a_mapping(text: str, kind: str) -> None:
    assert f"the top level is {kind}" in complaint(text)


def test_several_documents() -> None:
    assert (
        complaint("a: 1\n---\nb: 2\n")
        == "r.yaml:2: the file holds several documents (`---`); write one recipe a file"
    )


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "expected ',' or ']'"),
        ("a:\n\tb: 1\n", 2, "a tab"),
        ("a: 1\nb: c: d\n", 2, "put text with `: ` in quotes"),
        ("a: 1\nb: *nothing\n", 2, "undefined alias"),
        ('a: "unclosed\nb: 1\n', 1, "unexpected end of stream"),
        ("a: 1\nb: {{isl}\n", 2, "text that begins with { stands in quotes"),
        ("a: 1\nb: {{isl}\nc: 1\n", 2, "text that begins with { stands in quotes"),
        ("a: 1\nb: {c: 1\n", 2, "expected ',' or '}'"),
        ("a: 1\n b: 2\n", 2, "indent keys of one section alike"),
        ("a:\n  b: {c: 1}\n   d: 2\n", 3, "keys of one section are indented alike"),
    ],
)
def test_syntax_errors_have_a_line_and_a_reason(text: str, line: int, words: str) -> None:
    message = complaint(text)
    assert message.startswith(f"r.yaml:{line}: not valid YAML")
    assert words in message
    assert "\n" not in message


def test_a_control_character() -> None:
    assert "control character" in complaint("a: 1\nb: x\x07y\n")


@pytest.mark.parametrize("tag", ["!!python/object:os.system", "!mine", "!!binary", "!!set", "!!timestamp"])
def test_tags_are_not_supported(tag: str) -> None:
    assert "is not supported" in complaint(f"a: {tag} '1'\n")


@pytest.mark.parametrize("text", ["!!int abc", "9" * 5000])
def test_numbers_that_are_none(text: str) -> None:
    assert "cannot be read as int" in complaint(f"a: {text}\n")


def test_aliases_cannot_explode() -> None:
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "expand to more than 200000 values" in complaint("\n".join(lines))


def test_merge_keys_cannot_explode() -> None:
    lines = ["m0: &m0 {a: 1, b: 2}"]
    lines += [f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 10)}]}}" for n in range(1, 9)]
    assert "expand to more than 200000 values" in complaint("\n".join(lines))


def test_a_block_cannot_contain_itself() -> None:
    assert "refers to a block that contains it" in complaint("a: &a\n  b: *a\n")
    assert "refers to a block that contains it" in complaint("a: &a\n  <<: *a\n")


def test_deep_nesting_is_an_error_not_a_crash() -> None:
    assert "nested more than 100 deep" in complaint("a: " + "[" * 150 + "]" * 150)
    assert complaint("a: " + "[" * 100_000).startswith("r.yaml:1:")


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "r.yaml"
    file.write_bytes(b"\xef\xbb\xbfname: caf\xc3\xa9\r\nnext: 1\r\n")
    document = load(file)
    assert document.data == {"name": "café", "next": 1}
    assert document.path == str(file)
    assert document.line(("next",)) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a: 1\nb: \xff\n", ":2: the file is not UTF-8 text (byte 0xff)"), (None, ": there is no such file")],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "r.yaml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(RecipeError) as caught:
        load(file)
    assert str(caught.value) == f"{file}{message}"


def test_a_directory_is_no_recipe(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="this is a directory, not a file"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4", 4),
        ("[4, 8]", [4, 8]),
        ("{a: 1}", "{a: 1}"),
        ("on", "on"),
        ("[1", "[1"),
        ("a: b", "a: b"),
        ("''", ""),
    ],
)
def test_one_value_from_a_command_line(text: str, expected: object) -> None:
    assert parse_value(text) == expected


def test_problems_are_one_line_each() -> None:
    assert str(Problem("r.yaml", None, "", "is odd")) == "r.yaml: is odd"
    error = RecipeError([Problem("r.yaml", 1, "a.b", "is odd"), Problem("r.yaml", 2, "", "is even")])
    assert str(error) == "r.yaml:1: a.b: is odd\nr.yaml:2: is even"
    assert len(error.problems) == 2


def test_names() -> None:
    assert dotted(("roles", "decode", "args", 0, "x")) == "roles.decode.args[0].x"
    assert nearest("worker", ["workers", "gpus"]) == "workers"
    assert nearest("zzz", ["workers", "gpus"]) is None


@pytest.mark.parametrize(
    ("word", "base", "number"),
    [("0x4", "hexadecimal", 4), ("0x1F", "hexadecimal", 31), ("0o14", "octal", 12)],
)
def test_numbers_of_another_base_are_refused_because_0x4_may_be_meant_as_text(
    word: str, base: str, number: int
) -> None:
    assert complaint(f"a: 1\nb: {word}\n") == (
        f'r.yaml:2: b: YAML reads {word} as the {base} number {number}: write {number}, or "{word}" in quotes'
        " where text is meant"
    )
    assert parse(f'b: "{word}"\n', "r.yaml").data == {"b": word}


@pytest.mark.parametrize(
    ("written", "told"),
    [("0x1f2e3d4c", "YAML reads this secret as a number (hexadecimal): write it in quotes"),
     ("!!int 1f2e3d4c", "this secret cannot be read as int")],
)  # fmt: skip
def test_a_number_that_is_a_secret_is_refused_without_its_value(written: str, told: str) -> None:
    assert complaint(f"HF_TOKEN: {written}\n") == f"r.yaml:1: HF_TOKEN: {told}"
    assert complaint(f"A_KEY: [{written}]\n") == f"r.yaml:1: A_KEY[0]: {told}"


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{concurrencies: 4,16,64}",
         "concurrencies: inside { } a comma ends the value, so 4, 16, 64 is no list:"
         " write [4, 16, 64], or 4x16x64"),
        ("{isl: 4, 8, osl: 2}",
         "isl: inside { } a comma ends the value, so 4, 8 is no list: write [4, 8]"),
    ],
)  # fmt: skip
def test_a_list_without_brackets_between_braces_is_told_as_one(written: str, told: str) -> None:
    assert complaint(f"a: {written}\n") == f"r.yaml:1: a.{told}"


def test_a_number_that_is_a_key_between_braces_is_still_one() -> None:
    assert complaint("a: {8: x}\n").endswith(
        'a.8: this key reads as int, not as text; write it in quotes: "8"'
    )


def test_a_file_with_faulty_values_can_be_judged_further() -> None:
    with pytest.raises(FaultyDocumentError) as caught:
        parse("a: 1\na: 2\nb: {c: 0x4}\n", "r.yaml")
    assert caught.value.document.data == {"a": 1, "b": {"c": 4}}
    assert len(caught.value.problems) == 2
