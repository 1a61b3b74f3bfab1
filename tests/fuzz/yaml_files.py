"""Files that people write, of every kind: a mistake is told with its file and its place."""

import os
import re
import tempfile
import zlib
from pathlib import Path

from analyze.gate.known_issues import read_known
from collect.config.validate import CHECKS, Findings
from schemas.errors import ConfigError

WORDS = [
    b"schema_version: 1\n",
    b"case_id: one\n",
    b"title: x\n",
    b"runner: {type: llm_probe}\n",
    b"input: {messages: [{role: user, content: x}]}\n",
    b"validator: {type: exact, expected: x}\n",
    b"deterministic_checks:\n  - {check_id: c, kind: contains}\n",
    b"suite_id: s\n",
    b"models: [{model_id: m, model: v/m, provider: openrouter}]\n",
    b"run_profile_id: p\n",
    b"execution_policy: {max_concurrency: 2}\n",
    b"evaluation_profile_id: e\n",
    b"judges: []\n",
    b"thresholds: {}\n",
    b"prices: [{model: m, valid_from: 2026-01-01}]\n",
    b"quarantine: []\n",
    b"[[quarantine]]\n",
    b"- ",
    b"? ",
    b": ",
    b"&a ",
    b"*a",
    b"<<: *a\n",
    b"!!python/object:os.system ",
    b"!!binary x",
    b"---\n",
    b"...\n",
    b"%YAML 1.1\n",
    b"|\n  x\n",
    b">-\n",
    b"'",
    b'"',
    b'"\\ud800"',
    b'"\\U0010ffff"',
    b"{",
    b"}",
    b"[",
    b"]",
    b"\n",
    b"  ",
    b"\t",
    b"#",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\x1b[2J",
    b"0x7fffffffffffffff",
    b"1e400",
    b".nan",
    b"99999999999999999999",
    b"2026-13-01",
    b"yes",
    b"null",
    b"../../x",
    b"/etc/passwd",
    b"[" * 70,
]

PLACES = {
    "project file": "benchlake.yaml",
    "case": "configs/cases/group/one/test.yaml",
    "suite": "configs/suites/s.yaml",
    "run profile": "configs/run_profiles/p.yaml",
    "evaluation profile": "configs/evaluation_profiles/e.yaml",
    "agent": "configs/agents/a/agent.yaml",
    "prompt list": "configs/prompts/p.json",
}
OTHERS = {"prompt list lines": "configs/prompts/p.jsonl"}
KNOWN = {"known": "known.yaml", "known as TOML": "known.toml", "known as JSON": "known.json"}
KINDS = (*PLACES, *OTHERS, *KNOWN)

BREAKS = (b"\n", b"\r", "\x85".encode(), "\u2028".encode(), "\u2029".encode())
"""What ends a line for YAML 1.1."""

KIND = re.compile(rb"\A# kind: ([a-zA-Z ]+)\n")

WHOLE_FILE = re.compile(
    r"is nested|is not (?:UTF-8|valid)|holds (?:more|a NUL|an integer|no)|unfolds|is too large|"
    r"and \d|gave up|no such file|is (?:missing|empty)"
)
"""What is wrong with a file as a whole and has no place of its own."""


def check(data):
    """The first line may say of which kind a file is; else every kind has its share of inputs."""
    found = KIND.match(data)
    kind = found[1].decode() if found else ""
    if kind in KINDS:
        data = data[found.end() :]
    else:
        kind = KINDS[zlib.crc32(data) % len(KINDS)]
    place = {**PLACES, **OTHERS, **KNOWN}[kind]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        root = Path(folder).resolve()
        (root / ".git").mkdir()
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        before = Path.cwd()
        os.chdir(root)
        try:
            problems = _problems(kind, path)
        finally:
            os.chdir(before)
        n_lines = sum(map(data.count, BREAKS)) + 2
        for problem in problems:
            _check_problem(problem, n_lines)


def _problems(kind, path):
    findings = Findings()
    try:
        if kind in KNOWN:
            read_known(path)
        else:
            CHECKS[kind.removesuffix(" lines")](path, findings)
    except ConfigError as exc:
        findings.problems += exc.problems or [None]
    return findings.problems


def _check_problem(problem, n_lines):
    assert problem is not None, "refused without a reason"
    assert problem.path is not None, f"no file: {problem}"
    assert str(problem).isprintable()
    if problem.line is not None:
        assert 1 <= problem.line <= n_lines, f"no such line: {problem}"
    elif problem.path.is_file():
        assert problem.key or WHOLE_FILE.search(problem.what), f"neither line nor key: {problem}"
