"""What a session has left is read in both forms, whatever an agent or a kill has made of it."""

import json
import os
import sqlite3
from pathlib import Path

import pytest
import zstandard

from collect.runners.openclaw import session as module
from collect.runners.openclaw.session import raw_lines, read_sessions

SAMPLES = Path(__file__).parent / "samples"
TABLE = (
    "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, "
    "event_zstd BLOB, CHECK (event_json IS NULL OR json_valid(event_json)))"
)
NODES = "CREATE TABLE session_nodes (session_key TEXT, current_session_id TEXT, spawned_by TEXT)"


@pytest.fixture
def state(tmp_path):
    (tmp_path / "agents/main/sessions").mkdir(parents=True)
    (tmp_path / "agents/main/agent").mkdir()
    return tmp_path


def sample(name):
    return (SAMPLES / f"{name}.jsonl").read_bytes()


def jsonl(state, raw, name="s1"):
    path = state / f"agents/main/sessions/{name}.jsonl"
    path.write_bytes(raw)
    return path


def database(state, lines, *, packed=False, table=TABLE, closes=True):
    path = state / "agents/main/agent/openclaw-agent.sqlite"
    made = sqlite3.connect(path)
    made.execute("PRAGMA journal_mode = WAL")
    made.execute(table)
    made.execute(NODES)
    for number, line in enumerate(lines):
        event = zstandard.compress(line.encode()) if packed else None
        values = ("s1", number, None if packed else line, event)
        made.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?)", values)
    made.commit()
    if closes:
        made.close()
    return made


def read(state):
    return read_sessions(state, "main", "s1")


def test_lines_are_a_session(state):
    jsonl(state, sample("2026.5.28-plain"))

    found = read(state)

    assert (found.form, found.notes, found.others) == ("jsonl", (), ())
    assert found.main.source == "agents/main/sessions/s1.jsonl"
    assert len(found.main.lines) == 12
    assert found.main.lines[0]["type"] == "session"
    assert [json.loads(one) for one in raw_lines(found.main).splitlines()] == [
        json.loads(one) for one in sample("2026.5.28-plain").splitlines()
    ]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("closes", [False, True])
def test_a_database_is_a_session_also_where_it_was_not_closed(state, packed, closes):
    lines = sample("2026.9.6-plain").decode().splitlines()
    held = database(state, lines, packed=packed, closes=closes)

    found = read(state)

    assert (found.form, found.notes) == ("sqlite", ())
    assert list(found.main.lines) == [json.loads(one) for one in lines]
    if not closes:
        held.close()


def test_sessions_that_it_started_are_read_and_strangers_are_not(state):
    jsonl(state, b'{"type":"session","id":"s1"}\n')
    for name in ("child", "grandchild", "stranger"):
        jsonl(state, b'{"type":"session"}\n', name)
    index = {
        "agent:main:explicit:s1": {"sessionId": "s1"},
        "agent:main:subagent:b": {"sessionId": "grandchild", "spawnedBy": "agent:main:subagent:a"},
        "agent:main:subagent:a": {"sessionId": "child", "spawnedBy": "agent:main:explicit:s1"},
        "agent:main:other": {"sessionId": "stranger"},
        "odd": 5,
        "also": {"sessionId": "../../../etc/passwd", "spawnedBy": "agent:main:explicit:s1"},
        "round": {"sessionId": "s1", "spawnedBy": "round"},
    }  # fmt: skip
    (state / "agents/main/sessions/sessions.json").write_text(json.dumps(index))

    found = read(state)

    assert [(one.session_id, one.parent) for one in found.others] == [
        ("child", "s1"), ("grandchild", "child"),
    ]  # fmt: skip


def test_sub_agents_of_a_database_are_read(state):
    made = database(state, ['{"type":"session"}'], closes=False)
    made.execute("INSERT INTO session_nodes VALUES ('k', 's1', NULL), ('c', 'child', 'k')")
    made.execute("""INSERT INTO transcript_events VALUES ('child', 0, '{"type":"x"}', NULL)""")
    made.commit()
    made.close()

    found = read(state)

    assert [(one.session_id, one.parent) for one in found.others] == [("child", "s1")]


@pytest.mark.parametrize(
    ("tail", "n_wrong"),
    [
        (b'{"type":"message","mess', 1),
        (b"\xff\xfe\x00\n[1]\nnull\n5\n", 4),
        (b'{"a":' * 400 + b"1" + b"}" * 400, 1),
        (b'{"a":' * 195 + b"1" + b"}" * 195, 1),
        (b"\n\n \n", 0),
    ],
    ids=["torn", "no objects", "deep", "deeper than traces", "blank"],
)
def test_what_is_no_line_is_counted(state, tail, n_wrong):
    jsonl(state, b'{"type":"session"}\n' + tail)

    found = read(state)

    assert len(found.main.lines) == 1
    said = (f"agents/main/sessions/s1.jsonl: {n_wrong} lines are no JSON objects",)
    assert found.notes == (said if n_wrong else ())


def test_nothing_is_a_sentence(state):
    assert read(state).notes == ("openclaw has left no session",)
    assert read(state / "nowhere").notes == ("openclaw has left no session",)


@pytest.mark.parametrize("what", ["link out", "pipe", "folder", "large", "index"])
def test_what_is_no_file_of_the_session_is_a_sentence(state, what, monkeypatch, tmp_path_factory):
    path = state / "agents/main/sessions/s1.jsonl"
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.jsonl"
    secret.write_text('{"type":"secret"}\n')
    match what:
        case "link out":
            path.symlink_to(secret)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "large":
            monkeypatch.setattr(module, "MAX_SESSION_BYTES", 10)
            path.write_text('{"type":"session"}\n')
        case "index":
            path.write_text('{"type":"session"}\n')
            (state / "agents/main/sessions/sessions.json").symlink_to(secret)

    found = read(state)

    assert found.main is None or what == "index"
    assert len(found.notes) == 1
    assert "secret" not in str(found.main)


@pytest.mark.parametrize(
    "made",
    ["garbage", "empty", "a view", "virtual", "wrong columns", "wrong types", "a trap", "a step"],
)
def test_a_database_that_is_none_is_a_sentence(state, made):
    path = state / "agents/main/agent/openclaw-agent.sqlite"
    view = "CREATE VIEW transcript_events AS SELECT 1 AS seq, 's1' AS session_id, {} AS event_json"
    trap = "(WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT max(x) FROM t)"
    script = {
        "a view": view.format(trap),
        "virtual": "CREATE VIRTUAL TABLE transcript_events USING fts5(session_id, event_json)",
        "wrong columns": "CREATE TABLE transcript_events (a)",
        "wrong types": "CREATE TABLE transcript_events (session_id, seq, event_json, event_zstd);"
        "INSERT INTO transcript_events VALUES ('s1', 1, 5, x'ffff'), ('s1', 2, NULL, 7)",
        "a trap": "CREATE TABLE transcript_events (session_id, seq, event_zstd, "
        "event_json AS (hex(zeroblob(400000000))));"
        "INSERT INTO transcript_events VALUES ('s1', 1, NULL)",
        "a step": "CREATE TABLE transcript_events (session_id, seq, event_zstd);"
        "INSERT INTO transcript_events VALUES ('s1', 1, NULL);"
        "ALTER TABLE transcript_events ADD COLUMN event_json AS "
        "(printf('%.*c', 9000000, 'a') LIKE printf('%%%.*cb', 40000, 'a'))",
    }.get(made)
    if script is None:
        path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000 if made == "garbage" else b"")
    else:
        connection = sqlite3.connect(path)
        connection.executescript(script)
        connection.close()

    found = read(state)

    assert found.main is None
    assert found.notes[-1] == "openclaw has left no session"


def test_a_question_takes_so_long_and_no_longer(state, monkeypatch):
    monkeypatch.setattr(module, "MAX_STEPS", 20_000)
    database(state, ['{"type":"session"}'] * 20_000)

    found = read(state)

    assert found.main is None
    assert "interrupted" in found.notes[0]


@pytest.mark.parametrize("says_size", [False, True])
def test_a_packed_event_may_not_unfold_without_end(state, says_size):
    event = b'{"a":"' + b"x" * 50_000_000 + b'"}'
    if says_size:
        data = zstandard.compress(event)
    else:
        bomb = zstandard.ZstdCompressor(write_content_size=False).compressobj()
        data = bomb.compress(event) + bomb.flush()
    made = database(state, ['{"type":"session"}'], closes=False)
    made.execute("INSERT INTO transcript_events VALUES ('s1', 9, NULL, ?)", (data,))
    made.commit()
    made.close()

    found = read(state)

    assert len(found.main.lines) == 1
    assert "1 lines are no JSON objects" in found.notes[0]


@pytest.mark.timeout(60)  # by looking through the index for each: minutes
def test_a_chain_of_sub_agents_is_followed_at_once(state):
    jsonl(state, b'{"type":"session"}\n')
    index = {
        f"k{n}": {"sessionId": f"child-{n}", "spawnedBy": f"k{n - 1}"} for n in range(30_000, 0, -1)
    }
    index["k0"] = {"sessionId": "s1"}
    (state / "agents/main/sessions/sessions.json").write_text(json.dumps(index))
    jsonl(state, b'{"type":"session"}\n', "child-1")

    found = read(state)

    assert [one.session_id for one in found.others] == ["child-1"]
    assert "29,936 more sessions were started" in found.notes


@pytest.mark.parametrize("form", ["jsonl", "sqlite"])
def test_all_sessions_together_are_bounded(state, form, monkeypatch):
    monkeypatch.setattr(module, "MAX_SESSION_BYTES", 10_000)
    line = json.dumps({"type": "x" * 3_000})
    names = [f"child-{n}" for n in range(10)]
    if form == "jsonl":
        jsonl(state, line.encode())
        for name in names:
            jsonl(state, line.encode(), name)
        index = {name: {"sessionId": name, "spawnedBy": "k"} for name in names}
        index["k"] = {"sessionId": "s1"}
        (state / "agents/main/sessions/sessions.json").write_text(json.dumps(index))
    else:
        made = database(state, [line], packed=True, closes=False)
        made.execute("INSERT INTO session_nodes VALUES ('k', 's1', NULL)")
        for name in names:
            made.execute("INSERT INTO session_nodes VALUES (?, ?, 'k')", (name, name))
            values = (name, zstandard.compress(line.encode()))
            made.execute("INSERT INTO transcript_events VALUES (?, 0, NULL, ?)", values)
        made.commit()
        made.close()

    found = read(state)

    assert found.form == form
    assert len(found.others) == 2
    assert found.notes == ("only 10,000 bytes of all sessions are read",)
