"""Names, paths, mounts and patterns that could not mean anything are refused where they stand."""

from pathlib import Path

import pytest

from servesweep.plan.cluster_file import read_cluster
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.source import parse
from servesweep.recipe.validation import read_recipe
from servesweep.recipe.variants import expand

SMALLEST = {
    "schema": "2",
    "name": "demo",
    "model": "{path: tiny, precision: fp8}",
    "engine": "sglang",
    "roles": "{agg: {nodes: 1}}",
}


def read(key: str, written: str) -> Recipe:
    keys = {**SMALLEST, key: written}
    (variant,) = expand(parse("".join(f"{name}: {value}\n" for name, value in keys.items()), "r.yaml"))
    return read_recipe(variant)


def service(written: str) -> tuple[str, str]:
    return "services", f"[{{name: a, {written}}}]"


PLAIN = "write one plain line"
NO_NUL = "no command line and no variable can carry the character '\\x00': remove it"
NO_ADDRESS = "is no address: write host:port, several with commas between"
NO_MOUNT = "is no mount: write host:container, the latter absolute, with :ro behind it for read-only"


@pytest.mark.parametrize(
    ("key", "written", "sentence"),
    [
        # names and paths
        ("name", '" "', "name: the text is empty"),
        ("name", '"a\\nb"', f"name: the character '\\n' does not belong here: {PLAIN}"),
        ("name", '"a\\0b"', f"name: the character '\\x00' does not belong here: {PLAIN}"),
        ("model", '{path: "", precision: fp8}', "model.path: the text is empty"),
        ("model", '{path: "hf:", precision: fp8}',
         "model.path: the repository is missing: write hf:organisation/model"),
        ("model", '{path: tiny, precision: " "}', "model.precision: the text is empty"),
        ("model", '{path: tiny, precision: fp8, served_name: "a\\tb"}',
         f"model.served_name: the character '\\t' does not belong here: {PLAIN}"),
        ("environment", '{A: "x\\0"}',
         f"environment.A: {NO_NUL}"),
        ("sbatch_directives", '{comment: "a\\nb"}',
         f"sbatch_directives.comment: the character '\\n' does not belong here: {PLAIN}"),
        ("slurm", '{account: "a b; rm -rf"}',
         "slurm.account: 'a b; rm -rf' is no name of a Slurm account: letters, digits and _ . @ + : -"),
        ("slurm", "{partition: --exclusive}",
         "slurm.partition: '--exclusive' is no name of a Slurm partition: letters, digits and _ . @ + : -"),
        ("slurm", '{partition: "batch,"}',
         "slurm.partition: 'batch,' is no name of a Slurm partition: letters, digits and _ . @ + : -"),
        # mounts, in the words of pyxis
        ("extra_mount", "[x]", f"extra_mount[0]: 'x' {NO_MOUNT}"),
        ("extra_mount", '["/a:/b", ""]', f"extra_mount[1]: '' {NO_MOUNT}"),
        ("extra_mount", '["/a:/b:rw:x"]', f"extra_mount[0]: '/a:/b:rw:x' {NO_MOUNT}"),
        ("extra_mount", '["/a:b"]', f"extra_mount[0]: '/a:b' {NO_MOUNT}"),
        ("container_mounts", '{/a: ""}',
         "container_mounts./a: '' is no path in a container:"
         " write an absolute path, with :ro behind it for read-only"),
        ("container_mounts", '{"": /b}',
         "container_mounts.: '' is no path of the host that can be mounted: no `:`, no comma"),
        ("container_mounts", '{"/a,/b": /b}',
         "container_mounts./a,/b: '/a,/b' is no path of the host that can be mounted: no `:`, no comma"),
        # services
        (*service('type: etcd, external: ""'), f"services[0].external: '' {NO_ADDRESS}"),
        (*service('type: etcd, external: " , "'), f"services[0].external: ' ' {NO_ADDRESS}"),
        (*service('type: etcd, external: "a:1,"'), f"services[0].external: '' {NO_ADDRESS}"),
        (*service('type: etcd, external: "http://"'), f"services[0].external: 'http://' {NO_ADDRESS}"),
        (*service('command: [""]'), "services[0].command[0]: the first word is the program, and it is empty"),
        (*service('command: [a, "b\\0"]'),
         f"services[0].command[1]: {NO_NUL}"),
        (*service("command: [x], critcal: true"), "services[0].critcal: unknown key; did you mean critical?"),
        (*service("command: [x], env: "),
         "services[0].env: the key has no value: write one, or remove the key"),
        (*service("command: [x], metrics: [{prot: 1}]"),
         "services[0].metrics[0].prot: unknown key; did you mean port?"),
        # patterns of fatal lines
        ("health_check", '{extra_fatal_log_patterns: [""]}',
         "health_check.extra_fatal_log_patterns:"
         " the pattern '' is in every line, so the gate would give up at once"),
        ("health_check", '{extra_fatal_log_patterns: [".*"]}',
         "health_check.extra_fatal_log_patterns:"
         " the pattern '.*' is in every line, so the gate would give up at once"),
        ("health_check", '{extra_fatal_log_patterns: ["a("]}',
         "health_check.extra_fatal_log_patterns:"
         " 'a(' is no regular expression: missing ), unterminated subpattern at position 1"),
    ],
)  # fmt: skip
def test_a_text_that_means_nothing(key: str, written: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as caught:
        read(key, written)
    line = [*SMALLEST, key].index(key) + 1
    assert str(caught.value) == f"r.yaml:{line}: {sentence}"


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("name", "Köln · 8 × H100"),
        ("model", "{path: hf:org/model, precision: fp8}"),
        ("slurm", "{account: lab-1.x_y, partition: 'batch,gpu'}"),
        ("extra_mount", '["/a:/b", "/a b:/c:ro", "rel:/d", "/e:{log_dir}/e", "/f:/f:ro+nosuid"]'),
        ("container_mounts", "{/a: /b, ./c: '/d:ro', '{log_dir}/x': /x}"),
        service("type: etcd, external: 'http://a:2379, http://b:2379'"),
        service("type: nats, external: '[::1]:4222'"),
        ("health_check", "{extra_fatal_log_patterns: ['NCCL.*', '^$']}"),
    ],
)
def test_what_does_mean_something(key: str, written: str) -> None:
    read(key, written)


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ('model_paths: {tiny: ""}', "model_paths.tiny: the text is empty"),
        ('containers: {sglang: " "}', "containers.sglang: the text is empty"),
        ('default_mounts: {/a: "b"}',
         "default_mounts./a: 'b' is no path in a container:"
         " write an absolute path, with :ro behind it for read-only"),
        ('default_account: "a b"',
         "default_account: 'a b' is no name of a Slurm account: letters, digits and _ . @ + : -"),
        ("default_partition: -x",
         "default_partition: '-x' is no name of a Slurm partition: letters, digits and _ . @ + : -"),
        ("gpus_per_node: 100000000", "gpus_per_node: expected a number up to 1024, got 100000000"),
    ],
)  # fmt: skip
def test_a_text_of_the_cluster_file_that_means_nothing(tmp_path: Path, written: str, sentence: str) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(f"# a site\n{written}\n")
    with pytest.raises(RecipeError) as caught:
        read_cluster(str(file))
    assert str(caught.value).replace(f"{tmp_path}/", "") == f"cluster.yaml:2: {sentence}"
