"""Files of acknowledged shifts and quarantined cases: TOML and YAML say the same, with lines."""

from datetime import date

import pytest

from analyze.gate.known_issues import read_known
from schemas.errors import ConfigError

TOML = """\
schema_version = 1

[[acknowledged]]
suite_id = "nightly"
model_id = "small"
metric = "passed_rate"
first_run = "20260110_020000"
direction = "down"
reason = "prompt cache removed"
author = "ana"

[[quarantined]]
suite_id = "nightly"
case_id = "flaky-one"
reason = "flaky: 3 of 10"
author = "ben"
until = 2026-03-31
"""

YAML = """\
schema_version: 1
acknowledged:
  - suite_id: nightly
    model_id: small
    metric: passed_rate
    first_run: "20260110_020000"
    direction: down
    reason: prompt cache removed
    author: ana
quarantined:
  - {suite_id: nightly, case_id: flaky-one, reason: "flaky: 3 of 10", author: ben,
     until: 2026-03-31}
"""


def written(tmp_path, text, name="known.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(path):
    with pytest.raises(ConfigError) as caught:
        read_known(path)
    return str(caught.value)


def test_toml_and_yaml_say_the_same(tmp_path):
    toml = read_known(written(tmp_path, TOML))

    assert toml == read_known(written(tmp_path, YAML, "known.yaml"))
    assert toml.quarantined[0].until == date(2026, 3, 31)
    assert toml.acknowledged[0].case_id is None


def test_a_date_may_be_written_as_text(tmp_path):
    text = TOML.replace("2026-03-31", '"2026-03-31"')

    assert read_known(written(tmp_path, text)).quarantined[0].until == date(2026, 3, 31)


def test_a_file_with_nothing_known_is_fine(tmp_path):
    assert read_known(written(tmp_path, "schema_version = 1\n")).quarantined == ()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('author = "ben"', 'autor = "ben"', "known.toml:16: `quarantined[0].autor`: unknown key"),
        ('"down"', '"downwards"', "known.toml:8: `acknowledged[0].direction`: unknown value"),
        ('reason = "flaky: 3 of 10"\n', "", "known.toml:12: `quarantined[0].reason`: required"),
        ('"flaky-one"', '"Flaky One"', "known.toml:14: `quarantined[0].case_id`:"),
        ("2026-03-31", "1", "known.toml:17: `quarantined[0].until`:"),
        ("schema_version = 1", "schema_version = 2", "known.toml:1: `schema_version`: must be"),
        ("schema_version = 1", "x = 99999999999999999999", "integer of more than 64 bits"),
        ("[[quarantined]]", "[[quarantined]", "known.toml:12: is not valid TOML"),
        ("[[quarantined]]", "[[quarantined]]\nx = " + "[" * 5000, "is nested too deeply"),
    ],
)
def test_every_mistake_names_its_line_and_key(tmp_path, old, new, expected):
    assert expected in refused(written(tmp_path, TOML.replace(old, new)))


def test_mistakes_of_yaml_name_their_line_too(tmp_path):
    path = written(tmp_path, YAML.replace("direction: down", "direction: sideways"), "known.yml")

    assert "known.yml:7: `acknowledged[0].direction`: unknown value" in refused(path)


def test_a_header_inside_a_long_text_is_no_table(tmp_path):
    reason = '"""\n[[quarantined]]\nauthor = 1\n"""'
    text = TOML.replace('"prompt cache removed"', reason).replace('"flaky-one"', "7")

    assert "known.toml:17: `quarantined[0].case_id`:" in refused(written(tmp_path, text))


def test_a_file_of_another_kind_is_refused_by_name(tmp_path):
    assert "allowed: .toml, .yaml" in refused(written(tmp_path, TOML, "known.txt"))


def test_a_file_that_is_not_there_is_a_usage_error(tmp_path):
    assert "no such file" in refused(tmp_path / "none.toml")
