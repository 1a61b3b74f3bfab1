"""The YAML reader: plain values, line numbers, and refusals instead of surprises."""

import pytest

from schemas.errors import ConfigError
from schemas.io.yaml import read_yaml


def read(tmp_path, text):
    path = tmp_path / "file.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_yaml(path)


def problem(tmp_path, text):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("Yes", "Yes"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("-3", -3),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2026-11-21", "2026-11-21"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("7.6.1", "7.6.1"),
        ("'010'", "010"),
        ('"true"', "true"),
        ("|\n  1\n", "1\n"),
        ("[1, 'a', {b: no}]", [1, "a", {"b": "no"}]),
    ],
)
def test_scalars_mean_what_yaml_1_2_says(tmp_path, text, value):
    read_value = read(tmp_path, f"key: {text}").data["key"]
    assert read_value == value
    assert type(read_value) is type(value)


def test_every_key_knows_its_line(tmp_path):
    source = read(tmp_path, "a: 1\nb:\n  - c: 2\n  - d: 3\n")

    assert source.line_of(("b",)) == 2
    assert source.line_of(("b", 1, "d")) == 4
    assert source.line_of(("b", 1, "missing", "deeper")) == 4, "falls back to what is there"


def test_an_alias_is_the_value_it_names(tmp_path):
    assert read(tmp_path, "a: &x [1, 2]\nb: *x\n").data == {"a": [1, 2], "b": [1, 2]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", "file.yaml:3: duplicate key `a`"),
        ("a:\n\t- 1\n", "is not valid YAML"),
        ("a: [1\nb: 2", "is not valid YAML"),
        ("a: &x [*x]\n", "holds an alias of itself"),
        ("a: !!python/object:os.system x\n", "is not supported"),
        ("a: !!binary aGk=\n", "is not supported"),
        ("a: !mine x\n", "is not supported"),
        ("a: .nan\n", "is not a number that can be used"),
        ("a: -.inf\n", "is not a number that can be used"),
        ("a: 123456789012345678901234567890\n", "number is too long"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", "merge keys are not supported"),
        ("? [1, 2]\n: 3\n", "a key must be plain text"),
        ("a: " + "[" * 100 + "]" * 100, "is nested deeper than 64"),
        ("a: " + "[" * 5000 + "]" * 5000, "nested"),
        ("a: 1\n---\nb: 2\n", "is not valid YAML"),
        (b"a: \xff\xfe\n", "is not UTF-8 text"),
        (b"a: 'x\x00y'\n", "holds a NUL byte"),
        (b"# " + b"x" * 2_000_001, "is too large"),
    ],
)
def test_what_cannot_be_plain_values_is_refused_with_its_place(tmp_path, text, said):
    assert said in problem(tmp_path, text)


def test_a_byte_order_mark_is_passed_over(tmp_path):
    assert read(tmp_path, b"\xef\xbb\xbfa: 1\n").data == {"a": 1}


def test_aliases_that_unfold_into_billions_are_stopped(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    assert "unfolds into more than 100,000 values" in problem(tmp_path, "\n".join(lines))


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_file_that_is_none_is_named(tmp_path, name):
    with pytest.raises(ConfigError, match=r"no such file|is a directory"):
        read_yaml(tmp_path / name)


def test_all_duplicates_of_a_file_come_together(tmp_path):
    said = problem(tmp_path, "a: 1\na: 2\nb:\n  c: 1\n  c: 2\n")

    assert said.count("duplicate key") == 2
