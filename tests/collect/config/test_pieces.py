"""Prompt lists are cut into entries first: the right ones, with their lines."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collect.config.prompt_lists import json_lines, json_objects, load_prompt_list
from schemas.errors import ConfigError
from schemas.io.yaml import read_yaml

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
OBJECTS = st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=4)


@settings(max_examples=40, deadline=None)
@given(OBJECTS, st.sampled_from([None, 1]), st.booleans())
def test_every_array_of_objects_is_cut_where_json_says(objects, indent, ascii_):
    raw = json.dumps(objects, indent=indent, ensure_ascii=ascii_).encode(errors="replace")
    expected = json.loads(raw)

    assert [json.loads(piece) for _, piece in json_objects(None, raw)] == expected


@settings(max_examples=40, deadline=None)
@given(OBJECTS)
def test_every_line_is_an_entry(objects):
    raw = "\n\n".join(json.dumps(one) for one in objects).encode()

    found = list(json_lines(None, raw))

    assert [json.loads(piece) for _, piece in found] == objects
    assert [line for line, _ in found] == list(range(1, 2 * len(objects), 2))


def test_entries_know_their_lines(tmp_path):
    path = tmp_path / "list.json"
    path.write_text('\ufeff[\n {"id": "a",\n  "prompt": "]}{["},\n {"id": "b"}\n]\n')

    with pytest.raises(ConfigError) as caught:
        load_prompt_list(path)

    text = 'needs exactly one of `prompt` and `messages`; found `{"id": "b"}`'
    assert str(caught.value).endswith(f"list.json:4: `[1]`: {text}")


def test_a_json_source_may_escape_any_character(tmp_path):
    path = tmp_path / "message.json"
    text = "\N{GRINNING FACE} \\ud83d \\\\ud83d\\ude00 \u00e9/"
    path.write_text(json.dumps({"role": "user", "content": text}).replace("/", "\\/"))

    assert read_yaml(path).data["content"] == text
