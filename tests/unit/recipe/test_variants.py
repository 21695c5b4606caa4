import pytest

from servesweep.recipe.problems import RecipeError
from servesweep.recipe.selecting import select
from servesweep.recipe.source import Document, parse
from servesweep.recipe.variants import Variant, expand, set_value


def read(text: str) -> Document:
    return parse(text, "r.yaml")


def complaint(text: str, selector: str | None = None) -> str:
    """What is wrong with the blocks of a file; data is never judged here."""
    document = read(text)
    try:
        variants = expand(document) if selector is None else select(document, selector)
    except RecipeError as error:
        return str(error)
    return str(RecipeError(problem for variant in variants for problem in variant.faults))


def suffixes(variants: list[Variant]) -> list[str | None]:
    return [variant.suffix for variant in variants]


BASE = """\
schema: 2
base:
  name: llama
  model:
    path: /models/a
    precision: fp8
  loads: [1, 2, 4]
"""

FAMILY = f"""\
{BASE}
override_slow:
  model:
    precision: null
    revision: main
override_named:
  name: mine
  loads: [8]
zip_override_pair:
  model:
    path: [/models/b, /models/c]
    precision: [bf16]
  loads: [[1], [2, 3]]
"""


def test_a_plain_recipe_is_one_configuration_without_a_suffix() -> None:
    document = read("name: a\nmodel: {path: x}\n")
    (variant,) = expand(document)
    assert variant == Variant(None, document.data, dict(document.lines), path="r.yaml")


def test_overrides_come_by_name_then_zips_and_the_base_stays_out() -> None:
    variants = expand(read(FAMILY))
    assert suffixes(variants) == ["named", "slow", "pair_0", "pair_1"]
    assert [v.origin for v in variants] == [
        "override_named",
        "override_slow",
        "zip_override_pair[0]",
        "zip_override_pair[1]",
    ]


def test_merge_is_deep_lists_replace_and_null_deletes() -> None:
    named, slow, *_ = expand(read(FAMILY))
    assert slow.data == {
        "schema": 2,
        "name": "llama_slow",
        "model": {"path": "/models/a", "revision": "main"},
        "loads": [1, 2, 4],
    }
    assert named.data["name"] == "mine"
    assert named.data["loads"] == [8]


def test_zips_walk_their_lists_in_parallel() -> None:
    first, second = select(read(FAMILY), "zip_override_pair")
    assert first.data["model"] == {"path": "/models/b", "precision": "bf16"}
    assert second.data["model"] == {"path": "/models/c", "precision": "bf16"}
    assert (first.data["loads"], second.data["loads"]) == ([1], [2, 3])
    assert (first.data["name"], second.data["name"]) == ("llama_pair_0", "llama_pair_1")


def test_lines_follow_the_merge() -> None:
    slow = expand(read(FAMILY))[1]
    assert slow.line(("model", "path")) == 5
    assert slow.line(("model", "revision")) == 12
    assert slow.line(("loads", 1)) == 7
    assert slow.line(("schema",)) == 1
    second = select(read(FAMILY), "zip_override_pair[1]")[0]
    assert second.line(("model", "path")) == 18
    assert str(slow.problem(("model", "revision"), "is odd")) == "r.yaml:12: model.revision: is odd"


def test_variants_do_not_share_data() -> None:
    named, slow, *_ = expand(read(FAMILY))
    slow.data["model"]["path"] = "changed"
    assert named.data["model"]["path"] == "/models/a"


def test_a_zip_may_name_its_variants_and_delete_with_null() -> None:
    text = f"{BASE}zip_override_p:\n  name: [one, two]\n  model:\n    precision: [null, bf16]\n"
    one, two = expand(read(text))
    assert (one.data["name"], two.data["name"]) == ("one", "two")
    assert (one.data["model"], two.data["model"]) == (
        {"path": "/models/a"},
        {"path": "/models/a", "precision": "bf16"},
    )
    assert (one.suffix, two.suffix) == ("p_0", "p_1")


def test_one_name_for_all_of_a_zip_is_not_used_and_said() -> None:
    variants = expand(read(f"{BASE}zip_override_p:\n  name: same\n  loads: [[1], [2]]\n"))
    assert [v.data["name"] for v in variants] == ["llama_p_0", "llama_p_1"]
    assert "zip_override_p.name is one text for all its variants" in variants[0].notes[0]


def test_the_base_alone_is_the_configuration() -> None:
    (variant,) = expand(read(BASE))
    assert (variant.suffix, variant.origin) == (None, "base")
    assert variant.data["schema"] == 2


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("base", [None]),
        ("override_slow", ["slow"]),
        ("zip_override_pair", ["pair_0", "pair_1"]),
        ("zip_override_pair[1]", ["pair_1"]),
        ("override_*", ["named", "slow"]),
        ("*slow", ["slow"]),
        ("zip_override_pai?", ["pair_0", "pair_1"]),
        ("zip_override_*[0]", ["pair_0"]),
        ("*", ["named", "slow", "pair_0", "pair_1"]),
        ("slow", ["slow"]),
        ("pair_?", ["pair_0", "pair_1"]),
    ],
)
def test_selectors(selector: str, expected: list[str | None]) -> None:
    assert suffixes(select(read(FAMILY), selector)) == expected


GRID = """\
schema: 2
name: grid
model: {path: m, precision: p}
benchmark: {type: sa-bench, isl: "{isl}", osl: 8, concurrencies: [1]}
sweep: {isl: [16, 32, 64]}
"""


@pytest.mark.parametrize(
    ("selector", "expected"), [("isl32", ["isl32"]), ("isl?2", ["isl32"]), ("*6*", ["isl16", "isl64"])]
)
def test_a_point_of_a_grid_is_chosen_by_its_name(selector: str, expected: list[str]) -> None:
    assert suffixes(select(read(GRID), selector)) == expected


def test_a_point_that_is_not_there_lists_some_of_those_that_are() -> None:
    many = GRID.replace("[16, 32, 64]", str(list(range(20))))
    assert complaint(many, "isl99").endswith("isl9, isl10, isl11, and 8 more")


@pytest.mark.parametrize("selector", ["override_x", "zip_override_pair[2]", "slo", "b*", ""])
def test_an_unknown_selector_lists_what_there_is(selector: str) -> None:
    assert complaint(FAMILY, selector) == (
        f"r.yaml: there is no variant {selector!r}; there are: base, override_named, override_slow, "
        "zip_override_pair[0], zip_override_pair[1]"
    )


def test_a_plain_recipe_has_nothing_to_select() -> None:
    assert "this recipe is one configuration" in complaint("name: a\n", "base")


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("slurm: {}\n", "slurm: beside `base` stand only schema, override_<name> and zip_override_<name>"),
        ("overide_a: {}\n", "overide_a: unknown block; did you mean override_a?"),
        ("zip_overrid_a: {}\n", "zip_overrid_a: unknown block; did you mean zip_override_a?"),
        ("override_: {}\n", "override_: the variant has no name"),
        ("override_a:\n", "override_a: the block is not a mapping; write {} for a variant equal to the base"),
        ("override_a: 3\n", "override_a: the block is not a mapping; expected a mapping"),
        ("zip_override_a: {name: x}\n", "zip_override_a: a zip needs at least one list"),
        ("zip_override_a: {loads: []}\n", "zip_override_a.loads: the list is empty"),
    ],
)
def test_malformed_variants_have_file_line_and_key(block: str, message: str) -> None:
    assert complaint(BASE + block).startswith(f"r.yaml:8: {message}")


def test_incompatible_zip_lengths_are_named() -> None:
    text = f"{BASE}zip_override_a:\n  model:\n    path: [a, b, c]\n    precision: [x, y]\n"
    assert complaint(text) == (
        "r.yaml:11: zip_override_a.model.precision: has 2 values, but zip_override_a.model.path has 3: "
        "lists of a zip have one length or one value"
    )


def test_an_override_without_a_base() -> None:
    assert (
        complaint("name: a\noverride_x: {}\n") == "r.yaml:2: override_x: a variant needs a `base` beside it"
    )


SWEEP = """\
name: grid
sweep:
  isl: [1024, 8192]
  rate: [0.5, 2]
benchmark:
  isl: "{isl}"
  label: "isl{isl}-rate{rate}-on-{node}"
  args: ["--isl", "{isl}", "{job_id}"]
"""


def test_a_sweep_is_a_product_first_parameter_slowest() -> None:
    variants = expand(read(SWEEP))
    assert suffixes(variants) == ["isl1024_rate0.5", "isl1024_rate2", "isl8192_rate0.5", "isl8192_rate2"]
    assert variants[1].data == {
        "name": "grid_isl1024_rate2",
        "benchmark": {
            "isl": 1024,
            "label": "isl1024-rate2-on-{node}",
            "args": ["--isl", 1024, "{job_id}"],
        },
    }
    assert variants[1].line(("benchmark", "isl")) == 6


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("args: {tensor-parallel-size: {tp}}",
         "roles.agg.args.tensor-parallel-size: {tp} is read as a mapping; "
         'write it in quotes: "{tp}"'),
        ('args: {mem-fraction: "{mem}"}', "roles.agg.args.mem-fraction: there is no sweep parameter 'mem'; "
         "there are: tp"),
        ('nodes: "{tpp}"', "roles.agg.nodes: there is no sweep parameter 'tpp'; did you mean {tp}?"),
    ],
)  # fmt: skip
def test_a_placeholder_that_would_stay_as_it_is_is_told(value: str, sentence: str) -> None:
    text = f'schema: 2\nsweep: {{tp: [4, 8]}}\nroles:\n  agg:\n    gpus: "{{tp}}"\n    {value}\n'
    assert complaint(text) == f"r.yaml:6: {sentence}"


def test_an_exact_placeholder_keeps_the_type_and_a_longer_text_is_written_out() -> None:
    text = 'sweep:\n  x: [[1, 2], true, "7"]\na: "{x}"\nb: "x={x}"\n'
    assert [(v.data["a"], v.data["b"]) for v in expand(read(text))] == [
        ([1, 2], "x=1,2"),
        (True, "x=true"),
        ("7", "x=7"),
    ]


def test_suffixes_are_safe_in_file_names() -> None:
    text = 'sweep:\n  path: [/models/a b, "ü"]\na: "{path}"\n'
    assert suffixes(expand(read(text))) == ["path-models-a-b", "path-67cef67a"]


def test_a_very_long_suffix_is_cut_but_stays_unique() -> None:
    long = "x" * 300
    first, second = suffixes(expand(read(f"sweep:\n  p: [{long}a, {long}b]\na: '{{p}}'\n")))
    assert first is not None
    assert second is not None
    assert first != second
    assert len(first) == len(second) == 100


def test_a_sweep_inside_base_or_a_variant_expands_again() -> None:
    text = (
        f"{BASE}  sweep: {{n: [1, 2]}}\n  gpus: '{{n}}'\noverride_a: {{}}\noverride_b:\n  sweep: {{n: [3]}}\n"
    )
    variants = expand(read(text))
    assert suffixes(variants) == ["a_n1", "a_n2", "b_n3"]
    assert [v.data["gpus"] for v in variants] == [1, 2, 3]
    assert variants[2].data["name"] == "llama_b_n3"
    assert suffixes(select(read(text), "override_a")) == ["a_n1", "a_n2"]
    assert suffixes(select(read(text), "base")) == ["n1", "n2"]


def test_a_zip_cuts_the_lists_that_it_gives_itself_and_not_those_of_the_base_s_sweep() -> None:
    base = f"{BASE}  sweep: {{n: [1, 2, 3]}}\n  gpus: '{{n}}'\n"
    kept = expand(read(f"{base}zip_override_z: {{loads: [[1], [2]]}}\n"))
    assert suffixes(kept) == ["z_0_n1", "z_0_n2", "z_0_n3", "z_1_n1", "z_1_n2", "z_1_n3"]
    own = expand(read(f"{base}zip_override_z: {{loads: [[1], [2]], sweep: {{n: [[4, 8], [6]]}}}}\n"))
    assert [(one.suffix, one.data["loads"]) for one in own] == [
        ("z_0_n4", [1]),
        ("z_0_n8", [1]),
        ("z_1_n6", [2]),
    ]


def test_a_grid_in_a_zip_that_would_be_cut_into_single_values() -> None:
    text = f"{BASE}  sweep: {{n: [1, 2]}}\n  gpus: '{{n}}'\nzip_override_z:\n  sweep: {{n: [4, 8]}}\n"
    assert complaint(text) == (
        "r.yaml:11: zip_override_z.sweep.n: a zip gives each variant one item of this list,"
        " and a sweep needs a list there: write [[1, 2], [4, 8]]"
    )


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ("isl: []", "r.yaml:2: sweep.isl: the list is empty"),
        ("isl: 3", "r.yaml:2: sweep.isl: expected a list of values, as `isl: [1, 2]`"),
        ("osl: [1]", 'r.yaml:2: sweep.osl: nothing uses this parameter; write "{osl}"'),
        (
            "bare: [1]",
            'r.yaml:4: b: {bare} is read as a mapping; write it in quotes: "{bare}"',
        ),
        ("isl: [{a: 1}]", "r.yaml:2: sweep.isl: a value is a mapping"),
        ("'a b': [1]", "r.yaml:2: sweep.a b: a parameter's name is letters"),
    ],
)
def test_malformed_sweeps(sweep: str, message: str) -> None:
    assert complaint(f'sweep:\n  {sweep}\na: "{{isl}}"\nb: {{bare}}\n').startswith(message)


def test_a_sweep_is_a_mapping_and_has_a_limit() -> None:
    assert complaint("a: 1\nsweep: [1]\n").startswith("r.yaml:2: sweep: expected parameters with a list")
    numbers = list(range(101))
    text = f'sweep:\n  a: {numbers}\n  b: {numbers}\nx: "{{a}} {{b}}"\n'
    assert complaint(text) == "r.yaml:1: sweep: the grid has 10201 combinations; the limit is 10000"


def test_equal_variants_are_one_with_a_note() -> None:
    first, second = expand(read('sweep:\n  n: [1, 2, 1]\nx: "{n}"\n'))
    assert (first.suffix, second.suffix) == ("n1", "n2")
    assert first.notes == ("n1 equals n1 and was left out",)
    (only,) = expand(read(f"{BASE}override_a: {{loads: [1]}}\noverride_b: {{loads: [1]}}\n"))
    assert only.suffix == "a"
    assert only.notes == ("b equals a and was left out",)


def test_a_name_of_its_own_makes_a_variant_another_one() -> None:
    variants = expand(read(f"{BASE}override_a: {{name: first}}\noverride_b: {{name: again}}\n"))
    assert suffixes(variants) == ["a", "b"]


def test_different_variants_of_one_suffix_are_refused() -> None:
    text = f"{BASE}override_p_0: {{loads: [9]}}\nzip_override_p: {{loads: [[1], [2]]}}\n"
    assert complaint(text) == (
        "r.yaml:9: zip_override_p: both override_p_0 and zip_override_p[0] give the suffix p_0; rename one"
    )


def test_set_reads_scalars_and_lists_and_leaves_the_rest_alone() -> None:
    data = {"roles": {"decode": {"workers": 1, "gpus": 2}}}
    assert set_value(data, "roles.decode.workers=4") == {"roles": {"decode": {"workers": 4, "gpus": 2}}}
    assert set_value(data, "benchmark.loads=[4, 8]")["benchmark"] == {"loads": [4, 8]}
    assert set_value(data, "slurm.time_limit=01:00:00")["slurm"] == {"time_limit": "01:00:00"}
    assert set_value(data, "x={a: 1}")["x"] == "{a: 1}"
    assert set_value(data, "x=a=b")["x"] == "a=b"
    assert set_value(data, "x=a # b")["x"] == "a # b"
    assert set_value(data, "x=# b")["x"] == "# b"
    assert data == {"roles": {"decode": {"workers": 1, "gpus": 2}}}


def test_null_removes_one_key() -> None:
    data = {"a": {"b": 1, "c": 2}}
    assert set_value(data, "a.b=null") == {"a": {"c": 2}}
    assert set_value(data, "x.y=null") == data


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("roles.decode", "has no `=`"),
        ("=4", "'' is no key"),
        ("a..b=4", "'a..b' is no key"),
        ("a.b=", "gives no value"),
        ("loads[0]=4", "points into a list: set the whole list"),
        ("loads.x=4", "leads through 'loads', which is a list"),
        ("name.x=4", "leads through 'name', which is a value"),
        ("sweep.tp=[8]", "'sweep.tp' cannot be set: .* are expanded before values are set: change sweep in"),
        ("base.benchmark.isl=5", "'base.benchmark.isl' cannot be set: .*: set benchmark.isl"),
        ("override_x.name=y", "'override_x.name' cannot be set: .*: set name"),
        (
            "a.x=40,benchmark.isl=32",
            "holds another setting, .benchmark.isl.: between settings",
        ),
    ],
)
def test_bad_assignments(assignment: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        set_value({"name": "a", "loads": [1]}, assignment)


def test_what_can_be_built_is_built_beside_blocks_that_cannot() -> None:
    text = f"{BASE}overide_y: {{}}\noverride_x: {{loads: [9]}}\nzip_override_z: {{name: x}}\n"
    stray, broken, good = expand(read(text))
    assert (good.suffix, good.data["loads"], good.faults) == ("x", [9], ())
    assert [one.message for one in stray.faults] == ["unknown block; did you mean override_y?"]
    assert broken.faults[0].key == "zip_override_z"


def test_a_zip_that_cannot_be_cut_is_judged_by_its_first_variant() -> None:
    (first,) = expand(read(f"{BASE}zip_override_a:\n  model: {{path: [a, b], precision: [x, y, z]}}\n"))
    assert first.data["model"] == {"path": "a", "precision": "x"}
    assert "lists of a zip have one length" in first.faults[0].message


def test_a_grid_with_a_fault_is_judged_by_one_point() -> None:
    text = 'sweep: {isl: [1, 2], osl: 3, unused: [4]}\nbenchmark: {isl: {isl}, osl: "{osl}"}\n'
    (sample,) = expand(read(text))
    assert sample.data == {"benchmark": {"isl": 1, "osl": 3}}
    assert [(one.line, one.key) for one in sample.faults] == [
        (2, "benchmark.isl"), (1, "sweep.osl"), (1, "sweep.unused"),
    ]  # fmt: skip


def test_a_base_is_judged_where_no_variant_can_be_built() -> None:
    assert [one.origin for one in expand(read(f"{BASE}override_a: 3\n"))] == ["override_a", "base"]


def test_a_selector_does_not_hide_blocks_that_cannot_be_read() -> None:
    found = select(read(f"{BASE}overide_y: {{}}\noverride_x: {{}}\noverride_z: {{}}\n"), "override_x")
    assert [one.origin for one in found] == ["overide_y", "override_x"]


def test_a_swept_number_is_put_into_text_as_it_is_written() -> None:
    one, two = expand(read('sweep: {tag: [0.9, 0.10]}\na: "v{tag}"\n'))
    assert (one.data, two.data) == ({"a": "v0.9"}, {"a": "v0.10"})
    assert suffixes([one, two]) == ["tag0.9", "tag0.10"]


def test_numbers_that_are_written_otherwise_are_other_variants() -> None:
    text = "base: {env: {V: 1}}\noverride_a: {env: {V: 12.1}}\noverride_b: {env: {V: 12.10}}\n"
    assert suffixes(expand(read(text))) == ["a", "b"]


def test_values_of_one_name_are_told_apart_by_digits() -> None:
    first, second = suffixes(expand(read("sweep: {p: [a b, a-b]}\na: '{p}'\n")))
    assert first == "pa-b"
    assert second is not None
    assert second.startswith("pa-b-")
    assert len(set(suffixes(expand(read('sweep: {p: [1, "1", [1]]}\na: "{p}"\n'))))) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('sweep: {p: [sk-aaaa, sk-bbbb]}\nenv: {API_KEY: "{p}"}\n',
         "r.yaml:1: sweep.p: its values are secrets (env.API_KEY), and a configuration is called after them:"
         " set variables, and write ${NAME}"),
        ('sweep: {p: ["http://me:hunter22x@a", "-"]}\nenv: {PROXY: "{p}"}\n',
         "r.yaml:1: sweep.p: its values are secrets (env.PROXY)"),
        ('sweep: {p: [hunter22x, hunter33x]}\nenv: {PROXY: "http://me:{p}@a"}\n',
         "r.yaml:1: sweep.p: its values are secrets (env.PROXY)"),
        ('sweep: {p: [hunter22x]}\nenv: {ARGS: "--verbose --api-key {p}"}\n',
         "r.yaml:1: sweep.p: its values are secrets (env.ARGS)"),
        ('sweep: {p: [hunter22x]}\ncommand: [serve, --api-key, "{p}"]\n',
         "r.yaml:1: sweep.p: its values are secrets (command[2])"),
        ('sweep: {p: [[], [{a: 1}]]}\nservices: "{p}"\n',
         "r.yaml:1: sweep.p: a value is a mapping, or has one in it"),
        ('sweep: {"": [1]}\na: 1\n', "r.yaml:1: sweep.: a parameter's name is letters"),
    ],
)  # fmt: skip
def test_values_that_a_grid_cannot_have(text: str, message: str) -> None:
    assert complaint(text).startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        'sweep: {p: ["${KEY_A}", "${KEY_B}"]}\nenv: {API_KEY: "{p}"}\n',
        'sweep: {p: [$KEY_A, $(cat key)]}\nenv: {API_KEY: "{p}"}\n',
        'sweep: {p: ["${KEY_A}", "${KEY_B}"]}\nenv: {PROXY: "http://me:{p}@a"}\n',
    ],
)
def test_a_grid_of_variables_that_hold_secrets(text: str) -> None:
    assert len(expand(read(text))) == 2


@pytest.mark.parametrize("use", ["http://me:hunter221x@a{p}", "http://{p}:hunter221x@a", "http://a:{p}/x"])
def test_a_grid_beside_a_secret(use: str) -> None:
    assert len(expand(read(f'sweep: {{p: [1, 2]}}\nenv: {{PROXY: "{use}"}}\n'))) == 2
