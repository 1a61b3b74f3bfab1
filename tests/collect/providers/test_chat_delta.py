"""Reading by shape and reading in full are the same, whatever the events are."""

import json

from hypothesis import given
from hypothesis import strategies as st

from collect.providers.openai_chat import ChatAnswer, DeltaShape

TEXTS = st.text(alphabet='ab"\\{}:,[]\n\u00e9\U0001f600 ', max_size=6)
CALLS = st.just([{"index": 0, "id": "c", "function": {"name": "t", "arguments": "{}"}}])
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "role": st.just("assistant"),
        "content": TEXTS | st.none() | st.just([{"text": "part"}]) | st.just("content"),
        "reasoning": TEXTS | st.none(),
        "reasoning_content": TEXTS,
        "tool_calls": CALLS | st.none(),
    },
)
CHOICES = st.fixed_dictionaries(
    {"delta": DELTAS},
    optional={"finish_reason": st.sampled_from([None, "stop"]), "content": TEXTS},
)
EVENTS = st.fixed_dictionaries(
    {"choices": st.lists(CHOICES, max_size=1)},
    optional={
        "model": st.sampled_from(["m", "n"]),
        "usage": st.sampled_from([None, {"completion_tokens": 1}, {"completion_tokens": 2}]),
        "content": TEXTS,
    },
)


def retold(event, text):
    """Return an event that differs in the texts of its deltas alone."""
    copy = json.loads(json.dumps(event))
    for choice in copy["choices"]:
        delta = choice["delta"]
        delta.update({name: text for name, old in delta.items() if isinstance(old, str)})
    return copy


@given(st.lists(st.tuples(EVENTS, TEXTS), max_size=6), st.booleans(), st.booleans())
def test_events_of_one_shape_say_what_they_say_in_full(pairs, is_ascii, has_spaces):
    separators = (", ", ": ") if has_spaces else (",", ":")
    full, short, shape = ChatAnswer(), ChatAnswer(), DeltaShape()
    events = [one for event, text in pairs for one in (event, retold(event, text))]
    for event in events:
        raw = json.dumps(event, ensure_ascii=is_ascii, separators=separators).encode()
        data = json.loads(raw)
        expected = full.add(data, whole=False)
        if (text := shape.text_of(raw)) is None:
            assert short.add(data, whole=False) == expected
            shape.learn(raw, data)
        else:
            assert short.more(shape.name, text) == expected
    assert short.reply() == full.reply()


def test_most_events_of_a_stream_are_read_by_their_shape():
    shape = DeltaShape()
    events = [{"id": "x", "choices": [{"delta": {"content": text}}]} for text in ("a", 'b"', "")]
    raw = [json.dumps(event).encode() for event in events]

    assert shape.text_of(raw[0]) is None
    shape.learn(raw[0], events[0])

    assert [shape.text_of(one) for one in raw] == ["a", 'b"', ""]
    assert shape.text_of(raw[0].replace(b'"a"', b"5")) is None
    assert shape.text_of(raw[0].replace(b'"a"', b'"a", "role": "b"')) is None
    assert shape.text_of(raw[0].replace(b'"a"', b"")) is None
