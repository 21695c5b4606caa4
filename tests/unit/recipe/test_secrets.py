"""Which values are secrets, and how they leave and come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from servesweep.recipe.hidden_text import hidden_text
from servesweep.recipe.secret_names import is_secret_name, may_hold_secrets, variable_of, variables_in
from servesweep.recipe.secrets import hidden, is_secret_setting, revealed, secrets_in
from servesweep.recipe.source import load, parse
from servesweep.recipe.written import as_written

DATA: dict[str, Any] = {
    "environment": {"HF_TOKEN": "hf_abcdef", "TOKENIZERS_PARALLELISM": "false", "MINE": "${HF_TOKEN}"},
    "roles": {"agg": {"args": {"api-key": "sk-111111", "max-num-batched-tokens": 8192}}},
    "services": [{"command": ["server", "--api-key", "sk-222222", "--port", "80"]}],
    "framework_args": "--model m --api-key sk-333333 --tp 8",
}


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "MY_CREDENTIALS", "BASIC_AUTH",
     "--api-key", "apiKey", "Authorization", "auth_token", "NGC_CLI_API_KEY", "hf_token", "HELPER_TOKEN",
     "TOKENSECRET", "KEYWORDSECRET", "TOKENIZER_SECRET", "TOKENIZERSECRET", "AUTHOR_SECRET", "authorization",
     "TOKENS_PASSWORD", "PER_TOKEN_KEY"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["max-num-batched-tokens", "skip-tokenizer-init", "TOKENIZERS_PARALLELISM", "custom_tokenizer",
     "token_env", "ssl-keyfile", "SSH_KEY_PATH", "author", "tokenizer-mode", "keyword",
     "wckey", "UCX_IB_PKEY", "max-total-tokens", "num_tokens", "authors", "authority", "detokenize",
     "SGLANG_PER_TOKEN_GROUP_QUANT_8BIT_V2", "SGLANG_MAX_TOKENS_PER_RANK", "decode-token-threshold", "model"],
)  # fmt: skip
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [("HF_TOKENS", "hf_abcdefgh,hf_ijklmnop"), ("HF_TOKENS", "mine"), ("API_TOKENS", "${API_TOKENS}"),
     ("CACHE_KEY", "zqaaaa1111"), ("GROUP_KEY", "zqbbbb2222"), ("REDIS_PRIMARY_KEY", "c2Vjcm+V0/A="),
     ("sort-key", "AbC1dEf2GhI3"), ("CACHE_KEY", "${CACHE_KEY}"), ("tokens", "zqaaaa1111"),
     ("routing_key", "correcthorsebatterystaple")],
)  # fmt: skip
def test_the_value_tells_whether_tokens_or_the_key_of_a_cache_are_secret(name: str, value: str) -> None:
    assert hidden({name: value}) == {name: f"${{{variable_of(name)}}}"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("tokens", 8192), ("chunk-tokens", "1k,8k"), ("prompt_tokens", "1024x4096"), ("tokens", "{isl}"),
     ("reserve_tokens", "auto"), ("generated_tokens", [128, "256"]), ("sort-key", "arrival_time"),
     ("SCHED_KEY", "fcfs"), ("partition_key", "session.id"), ("hash_key", "$request_uri"),
     ("index_key", "zq3"), ("tokens", "many of them"), ("cache_key", 12345),
     ("routing_key", "x-session-id, x-user-id, x-tenant-id"), ("prefix-key", "userId2")],
)  # fmt: skip
def test_counted_tokens_and_names_of_fields_are_none(name: str, value: Any) -> None:
    data = {name: value}
    assert hidden(data) is data


@pytest.mark.parametrize(
    ("text", "may"),
    [("# memory and token limits\nname: a\n", False), ("name: a  # one token each\n", True),
     ("run: |\n  # export HF_TOKEN=abc\n", True), ('  # "api_key": "x"\n', True),
     ("# serve --api-key x\n", True), ("# Authorization: Bearer x\n", True)],
)  # fmt: skip
def test_prose_of_comments_is_no_name(text: str, may: bool) -> None:
    assert may_hold_secrets(text) is may


def test_a_secret_leaves_its_variable_s_name_behind() -> None:
    assert hidden(DATA) == {
        "environment": {"HF_TOKEN": "${HF_TOKEN}", "TOKENIZERS_PARALLELISM": "false", "MINE": "${HF_TOKEN}"},
        "roles": {"agg": {"args": {"api-key": "${API_KEY}", "max-num-batched-tokens": 8192}}},
        "services": [{"command": ["server", "--api-key", "${API_KEY}", "--port", "80"]}],
        "framework_args": "--model m --api-key ${API_KEY} --tp 8",
    }
    assert hidden(hidden(DATA)) == hidden(DATA)


def test_without_a_secret_the_data_is_the_same_object() -> None:
    data = {"roles": {"agg": {"args": {"max-tokens": 5, "seed": [1, 2]}}}, "text": "a key to success"}
    assert hidden(data) is data


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("export A_TOKEN=tok1; run", "export A_TOKEN=${A_TOKEN}; run"),
        ("login --password 'p w' -v", "login --password '${PASSWORD}' -v"),
        ('curl -H "Authorization: Bearer abcd" http://h/x', 'curl -H "Authorization: Bearer ${AUTHORIZATION}" http://h/x'),
        ("http://h/?api_key=zz9&n=1", "http://h/?api_key=${API_KEY}&n=1"),
        ('{"api_key": "sk-4", "kv": 3}', '{"api_key": "${API_KEY}", "kv": 3}'),
        ("--token $(cat /run/token)", "--token $(cat /run/token)"),
        ("--api-key $MINE", "--api-key $MINE"),
        ("--api-key --verbose", "--api-key --verbose"),
        ("--use-auth true --max-token 4096", "--use-auth true --max-token 4096"),
        # A name begins with a letter or a dash, whatever is in front of it in the same word.
        ("9A_KEY=abc1 ..b-key=abc2 ---c-key abc3", "9A_KEY=${A_KEY} ..b-key=${B_KEY} ---c-key ${C_KEY}"),
        ("éd-key=abc4 x=y_token=abc5", "éd-key=${D_KEY} x=y_token=${Y_TOKEN}"),
        ("-a --b-key\n  'abc6'", "-a --b-key\n  '${B_KEY}'"),
    ],
)  # fmt: skip
def test_secrets_within_a_text(text: str, expected: str) -> None:
    assert hidden({"args": text}) == {"args": expected}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://me:pw1@proxy.lan:3128/", "http://me:${PASSWORD_AT_PROXY_LAN}@proxy.lan:3128/"),
        ("redis://:p@w!@10.0.0.1", "redis://:${PASSWORD_AT_10_0_0_1}@10.0.0.1"),
        ("http://a:b1@h,http://c:d2@i x", "http://a:${PASSWORD_AT_H}@h,http://c:${PASSWORD_AT_I}@i x"),
        ("https://token:zz9@hub/m?api_key=zz8", "https://token:${PASSWORD_AT_HUB}@hub/m?api_key=${API_KEY}"),
        ("--api-key http://a:b1@h", "--api-key ${API_KEY}"),
        ("http://me:x1@$HOST:80", "http://me:${URL_PASSWORD}@$HOST:80"),
        ("git+https://ghx_0123456789abcdefgh@hub/m.git", "git+https://${PASSWORD_AT_HUB}@hub/m.git"),
    ],
)  # fmt: skip
def test_a_password_within_a_url_is_a_secret(text: str, expected: str) -> None:
    assert hidden({"env": {"HTTPS_PROXY": text}}) == {"env": {"HTTPS_PROXY": expected}}
    assert hidden(hidden([text])) == [expected]
    assert revealed(hidden([text]), [text], {}).data == [text]
    assert hidden_text(f"# {text}\na: 1\n") == f"# {expected}\na: 1\n"


@pytest.mark.parametrize(
    "text",
    ["http://h:80/", "http://me@h", "http://h:80/x@y", "http://me:${MINE}@h", "http://me:$MINE@h",
     "http://me:$(cat /run/pw)@h", "http://me:{pw}@h", "host:80@x", "a://b c:d@e",
     "ssh://somebody-with-a-very-long-name@h", "http://user0000000001@h"],
)  # fmt: skip
def test_a_url_without_a_written_password_stays(text: str) -> None:
    assert hidden({"a": text}) == {"a": text}
    assert hidden_text(f"a: '{text}'\n# {text}\n") == f"a: '{text}'\n# {text}\n"


def test_a_password_of_a_url_comes_from_the_environment_where_no_file_has_it() -> None:
    planned = hidden({"HTTPS_PROXY": "http://me:pw1@proxy:3128"})
    found = revealed(planned, None, {"PASSWORD_AT_PROXY": "pw2"})
    assert (found.data, found.values) == ({"HTTPS_PROXY": "http://me:pw2@proxy:3128"}, ("pw2",))
    assert [secret.reference for secret in revealed(planned, None, {}).missing] == ["PASSWORD_AT_PROXY"]


def test_numbers_and_switches_are_secrets_only_where_they_may_be_passwords() -> None:
    data = {
        "DB_PASSWORD": "12345678",
        "VLLM_X_TOKEN": "99999999",
        "USE_AUTH": "true",
        "A_KEY": 7,
        "B_KEY": 7654321,
        "C_PASSWORD": 12345,
        "VLLM_Y_TOKEN": "123456789012345",
    }
    secrets = ("DB_PASSWORD", "B_KEY", "C_PASSWORD", "VLLM_Y_TOKEN")
    assert hidden(data) == {**data, **{name: f"${{{name}}}" for name in secrets}}


def test_a_header_s_name_is_no_secret_and_its_value_is() -> None:
    data = {"auth_header": "X-Authorization", "AUTH_HEADER": "Bearer sk-very-secret"}
    assert hidden(data) == {**data, "AUTH_HEADER": "${AUTH_HEADER}"}


def test_an_ordinary_word_is_hidden_where_it_is_a_secret_and_nowhere_else() -> None:
    data = {"engine": "simulator", "args": {"api-key": "simulator"}}
    assert hidden(data) == {"engine": "simulator", "args": {"api-key": "${API_KEY}"}}


def test_a_value_repeated_under_another_name_is_hidden_there_too() -> None:
    assert hidden({"A": "hf_abcdef", "HF_TOKEN": "hf_abcdef"}) == {
        "A": "${HF_TOKEN}",
        "HF_TOKEN": "${HF_TOKEN}",
    }


def test_what_is_written_out_comes_back_from_the_recipe_and_the_rest_from_the_environment() -> None:
    found = revealed(hidden(DATA), DATA, {"HF_TOKEN": "hf_of_the_shell"})
    assert found.data == {**DATA, "environment": {**DATA["environment"], "MINE": "${HF_TOKEN}"}}
    assert set(found.values) == {"hf_abcdef", "sk-111111", "sk-222222", "sk-333333"}
    assert found.missing == ()


def test_two_secrets_of_one_name_are_told_apart_by_their_places() -> None:
    data = {"prefill": {"api-key": "sk-aaaaaa"}, "decode": {"api-key": "sk-bbbbbb"}}
    assert revealed(hidden(data), data, {}).data == data


def test_of_a_recipe_that_has_changed_since_the_secrets_alone_are_taken() -> None:
    now = {**DATA, "environment": {**DATA["environment"], "HF_TOKEN": "hf_rotated", "NEW": "x"}}
    found = revealed(hidden(DATA), now, {})
    assert found.data["environment"]["HF_TOKEN"] == "hf_rotated"
    assert "NEW" not in found.data["environment"]


def test_without_the_recipe_the_environment_is_asked_and_what_it_lacks_is_told() -> None:
    found = revealed(hidden(DATA), None, {"HF_TOKEN": "hf_of_the_shell"})
    assert found.data["environment"]["HF_TOKEN"] == "hf_of_the_shell"
    assert [".".join(map(str, secret.path)) for secret in found.missing] == [
        "roles.agg.args.api-key", "services.0.command.2", "framework_args",
    ]  # fmt: skip


def test_no_shipped_recipe_has_a_value_that_is_taken_for_a_secret() -> None:
    repository = Path(__file__).resolve().parents[3]
    files = sorted((repository / "config").rglob("*.yaml"))
    assert len(files) > 10
    assert [(str(file), secret) for file in files for secret in secrets_in(load(file).data)] == []


def test_a_shell_has_its_own_way_with_variables() -> None:
    assert revealed({"pre_launch": ["export A_TOKEN=${A_TOKEN}"]}, None, {}).missing == ()


def test_settings_that_have_a_secret_in_them() -> None:
    assert is_secret_setting("roles.agg.env.HF_TOKEN=hf_x")
    assert is_secret_setting('framework_args="--api-key sk-1"')
    assert is_secret_setting("environment.HTTPS_PROXY=http://me:pw1@proxy")
    assert not is_secret_setting("roles.agg.env.HF_TOKEN=${HF_TOKEN}")
    assert not is_secret_setting("roles.agg.args.max-tokens=512")
    assert not is_secret_setting("roles.agg.env.HF_TOKEN=null")


def test_secrets_of_a_process_are_not_its_paths() -> None:
    environment = {"HF_TOKEN": "hf_abcdef", "SSH_AUTH_SOCK": "/tmp/agent.1", "PATH": "/bin", "A_KEY": "short"}
    assert variables_in(environment) == {"HF_TOKEN": "hf_abcdef"}


def test_secrets_of_a_process_are_the_passwords_of_its_urls() -> None:
    environment = {"ALL": "http://a:pass-0001@h http://b:pass-0002@i", "C_KEY": "http://c:pass-0003@h"}
    assert set(variables_in(environment).values()) == {"pass-0001", "pass-0002", "http://c:pass-0003@h"}


RECIPE = '''\
# HF_TOKEN: hf_comment must go, and this must stay
environment: {HF_TOKEN: hf_abcdef, TOKENIZERS_PARALLELISM: "false"}  # of the group
mine: &shared sk-shared   # kept
roles:
  agg:
    env:
      MY_KEY: *shared
      OTHER_SECRET: "p\\"w with"
    args: {api-key: sk-111111, max-num-batched-tokens: 8192}
pre_launch: |
  export A_TOKEN=tok1234
  echo ready
'''  # fmt: skip
HIDDEN = '''\
# HF_TOKEN: ${HF_TOKEN} must go, and this must stay
environment: {HF_TOKEN: "${HF_TOKEN}", TOKENIZERS_PARALLELISM: "false"}  # of the group
mine: &shared "${MY_KEY}"   # kept
roles:
  agg:
    env:
      MY_KEY: *shared
      OTHER_SECRET: "${OTHER_SECRET}"
    args: {api-key: "${API_KEY}", max-num-batched-tokens: 8192}
pre_launch: |
  export A_TOKEN=${A_TOKEN}
  echo ready
'''  # fmt: skip


def test_a_file_s_text_stays_as_it_is_but_for_its_secrets() -> None:
    assert hidden_text(RECIPE) == HIDDEN
    assert hidden_text(HIDDEN) == HIDDEN


@pytest.mark.parametrize("style", ["|", "|-", "|+", ">", ">-", ">+", "|2", "&key |", "!!str |  # of ours"])
@pytest.mark.parametrize(
    "after", ["  OTHER: x\n", "  # a comment\n  OTHER: x\n", "\n\n# a comment\nnext: y\n", ""]
)
def test_a_secret_of_several_lines_leaves_the_file_valid(style: str, after: str) -> None:
    text = f"environment:\n  SSH_KEY: {style}\n    BEGIN zqaaaa1111\n\n    zqbbbb2222\n{after}"
    found = hidden_text(text)
    assert parse(found, "x").data == hidden(parse(text, "x").data)
    assert "zq" not in found
    assert found.endswith(f"\n{after}")
    assert hidden_text(found) == found


def test_the_lines_around_a_secret_of_several_lines_stay() -> None:
    text = "env:\n  A_KEY: |  # of the group\n    zqaaaa1111\n    zqbbbb2222\n\n  # more\n  OTHER: x\n"
    assert hidden_text(text) == 'env:\n  A_KEY: "${A_KEY}"  # of the group\n\n  # more\n  OTHER: x\n'
    plain = "env:\n  A_KEY: &a !!str |-\n    zqaaaa1111\n    zqbbbb2222\nb: *a\n"
    assert hidden_text(plain) == 'env:\n  A_KEY: &a !!str "${A_KEY}"\nb: *a\n'


@pytest.mark.parametrize(
    ("scalar", "expected"),
    [
        ("--size s --api-key s", '"--size s --api-key ${API_KEY}"'),
        ("'--api-key x1 don''t'", "'--api-key ${API_KEY} don''t'"),
        ('"--api-key x1 \\n"', '"--api-key ${API_KEY} \\n"'),
        ('"--api-key \\x78 1"', '"--api-key ${API_KEY} 1"'),
        ('"\\x2d-api-key x1"', '"--api-key ${API_KEY}"'),
    ],
)
@pytest.mark.parametrize("around", ["a: {}  # kept\n", "a: {{b: {}, c: 1}}\n", "a:\n  - {}\n"])
def test_a_secret_within_a_scalar_leaves_the_rest_and_the_file_valid(
    around: str, scalar: str, expected: str
) -> None:
    text = around.format(scalar)
    assert hidden_text(text) == around.format(expected)
    assert parse(hidden_text(text), "x").data == hidden(parse(text, "x").data)


@pytest.mark.parametrize(
    "number", ["-987654321", "123456.78", "+12345678901", "007123456", "0o1234567", "0x1f2e3d4c5b", "1e9999"]
)
def test_a_number_is_hidden_in_text_and_data_as_it_is_written(number: str) -> None:
    assert hidden_text(f"A_SECRET: {number}\nseed: 12\n") == 'A_SECRET: "${A_SECRET}"\nseed: 12\n'
    (secret,) = secrets_in({"A_SECRET": as_written(-5, number)})
    assert secret.value == number


def test_small_numbers_under_a_secret_s_name_are_settings() -> None:
    text = "auth_period: 0.5\nA_KEY: -1\nX_TOKEN: 1.5e3\nUSE_AUTH: true\nB_KEY: null\n"
    assert hidden_text(text) == text
    data = {"auth_period": 0.5, "A_KEY": -1, "X_TOKEN": 1.5e3, "USE_AUTH": True, "B_KEY": None}
    assert hidden(data) is data


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("#  A_KEY: |\n#    zqaaaa1111\n#\n#    zqbbbb2222\n#  OTHER: x", "#  A_KEY: ${A_KEY}\n#  OTHER: x"),
        ("  # - A_KEY: >- # ours\n  #     zqaaaa1111\n  # more", "  # - A_KEY: ${A_KEY}  # ours\n  # more"),
        ("#A_KEY: |+\n#  zqaaaa1111", "#A_KEY: ${A_KEY}"),
        ("# HF_TOKEN zqaaaa1111", "# HF_TOKEN ${HF_TOKEN}"),
        ("# the token zqaaaa1111, of last year", "# the token ${TOKEN}, of last year"),
        ("#   HF_TOKEN   'zqaaaa1111'", "#   HF_TOKEN   '${HF_TOKEN}'"),
    ],
)
def test_secrets_of_comments(comment: str, expected: str) -> None:
    assert hidden_text(f"{comment}\na: 1\n") == f"{expected}\na: 1\n"
    assert hidden_text(f"a: 1\n{comment}") == f"a: 1\n{expected}"


@pytest.mark.parametrize(
    "comment",
    [
        "# text: |\n#   as it is 0123456789abc",
        "# the token throughput; a key measurement",
        "# see the key at https://h/doc1234567",
        "# token /a/b1234567",
        "# a key of gb200",
    ],
)
def test_prose_of_comments_stays(comment: str) -> None:
    text = f"A_KEY: ${{A_KEY}}\n{comment}\n"
    assert hidden_text(text) == text


@pytest.mark.parametrize(
    "word",
    ["a" * 200_000, "key" + "n" * 200_000, "ab1-" * 50_000, "a=" * 100_000, "a://b:" * 40_000,
     "a://b" * 40_000, " " * 200_000],
    ids=lambda word: f"{word[:7]}…",
)  # fmt: skip
def test_a_comment_of_very_many_letters_is_read_to_its_end(word: str) -> None:
    text = f"# {word}, HF_TOKEN=hf_abcdef1 --api-key sk-111111, {word}\nb: |\n  {word}, --api-key sk-222222\n"
    expected = text.replace("hf_abcdef1", "${HF_TOKEN}").replace("sk-111111", "${API_KEY}")
    assert hidden_text(text) == expected.replace("sk-222222", "${API_KEY}")


def test_text_and_data_are_hidden_alike() -> None:
    assert parse(HIDDEN, "x").data == hidden(parse(RECIPE, "x").data)


def test_a_lock_is_left_as_it_is() -> None:
    text = "schema: 2\nlock:\n  env: {HF_TOKEN: '***REDACTED***', A_KEY: found}\n"
    assert hidden_text(text) == text


def test_every_place_is_told() -> None:
    assert [(secret.variable, secret.reference) for secret in secrets_in(DATA)] == [
        ("HF_TOKEN", None), ("API_KEY", None), ("API_KEY", None), ("API_KEY", None),
    ]  # fmt: skip
