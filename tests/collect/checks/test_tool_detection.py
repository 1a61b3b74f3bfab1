"""One row per way of naming a tool in text, and per way of looking like it without being it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collect.tools import ToolUse, detect_tools, tool_use
from tests.support.cpu_time import loops

MEGABYTE = 1_000_000

INLINE = [
    # the five patterns of the older tool
    ("`free -h`", "free"),
    ("`ps aux | grep x` then `du`", "ps du"),
    ("run \"free -h\" or 'du -s /'", "free du"),
    ("$ free\n$ du -s", "free du"),
    ("as root: # free -h", "free"),
    ("<tool>free</tool> <TOOL>Du</TOOL>", "free du"),
    ("[tool: free] [TOOL:du]", "free du"),
    # order of the text, distinct, lower case
    ('[tool: d] `b` "c x" $ a <tool>e</tool>', "d b c a e"),
    ("`Free` `free` `FREE -h`", "free"),
    ("", ""),
    # a command is read alike everywhere
    ("`sudo free -h`", "free"),
    ("`sudo -u root -E free`", "free"),
    ("`sudo --user=root -n free`", "free"),
    ("`sudo`", ""),
    ("`LANG=C TZ='' free`", "free"),
    ("`A=1 sudo B=2 free`", "free"),
    ("`/usr/bin/free -h`", "free"),
    ("`./tools/run.sh`", "run.sh"),
    ("`$ free -h`", "free"),
    ('"sudo /usr/bin/free -h"', "free"),
    ("$ sudo /usr/bin/free -h", "free"),
    ("`get_weather(city)`", "get_weather"),
    ("`free.`", "free"),
    ("`free", "free"),
    ("使用`free`命令和'du -s'", "free du"),
    ("**`free`**,`du`", "free du"),
    # what looks like one and is none
    ("it's free, don't date me", ""),
    ("l'été d'alice dort", ""),
    ("'free' \"free\"", ""),
    ('"Free memory"', ""),
    ('{"tool": "free"}', ""),
    ('{"command": "free -h"}', "free"),
    ("cost $ 5 and `42`", ""),
    ("`--help` `-h` `...`", ""),
    ("`KEY=value` `https://a.b/free`", ""),
    ("`df`s and `ls`-like", "df ls"),
    ("[Tool: free] [tool: free -h] <tool></tool>", ""),
    ("<command>free</command>", ""),
    ("C# is free", ""),
    # Markdown headings and prompts
    ("# free memory", ""),
    ("text\n\n### free memory\n## $ du", "du"),
    ("> # free memory", ""),
    ("    # free -h", "free"),
    ("#### # free -h", "free"),
    ("user@host:/var/log$ free\nroot@host:/root# du", "free du"),
    ("[root@host ~]# free", "free"),
]

FENCED = [
    ("```bash\nfree -h\n```", "free"),
    ("```bash\r\nfree -h\r\ndu\r\n```\r\n", "free du"),
    ("```\nfree -h\n```", "free"),
    ("~~~sh\nfree\n~~~\n`du`", "free du"),
    ("1. Run:\n   ```shell\n   free -h\n   ```", "free"),
    ("- ```zsh\n  free\n  ```", "free"),
    ("> ```sh\n> free\n> ```", "free"),
    ("```{.bash}\nfree\n```", "free"),
    ("```bash\nfree -h", "free"),
    ("````bash\nfree\n```\ndu\n````", "free du"),
    ("```bash\n```", ""),
    ("```bash free -h```", "free"),
    ('```json {"a": 1}```', ""),
    ("```free -h```", "free"),
    # the first word of each line
    ("```sh\nsudo /usr/bin/free -h\nLANG=C du -s\n```", "free du"),
    ("```console\n$ free\n# du\n> df\n```", "free du df"),
    ("```console\nroot@host:~# free\nuser@host:~$ du\n```", "free du"),
    ("```bash\nfree | sort; du\n```", "free"),
    ("```bash\ndocker run \\\n  image free\n```", "docker"),
    ('```bash\nssh host "free -h"\nx=`du`\n```', "ssh free du"),
    ("```console\n$ free\nMem: 1 2\n       total used\n```", "free total"),
    # `#` in a block: a comment in a script, root's prompt elsewhere
    ("```bash\n# check memory\nfree -h\n```", "free"),
    ("```bash\n# free -h\n```", "free"),
    ("```\n# free -h\n```", "free"),
    ("```console\n# Show memory\n$ free\n```", "free"),
    # other languages are not shell
    ('```json\n{"command": "free -h"}\n```', "free"),
    ("```python\nimport os\n# free it\nos.system('du -s')\n```", "du"),
    ("```js\nconst x = `hello ${y}`\n```", ""),
    ("```text\n$ free -h\n# du\nls\n```", "free"),
    ("```xml\n<tool>free</tool>\n```", "free"),
    # what follows a block is prose again
    ("```json\n{}\n```\n# heading\n`free`", "free"),
]


@pytest.mark.parametrize(("text", "names"), INLINE + FENCED)
def test_names_found(text: str, names: str) -> None:
    assert detect_tools(text) == tuple(names.split())


@pytest.mark.parametrize(
    ("text", "calls", "expected", "use"),
    [
        ("`free`", [], ["free"], ToolUse(("free",), "text", True)),
        ("`free`", [], ["FREE"], ToolUse(("free",), "text", True)),
        ("`free`", [], [], ToolUse(("free",), "text", False)),
        ("`free`", [], ["du"], ToolUse(("free",), "text", False)),
        ("`free`", ["Du", "du", "df"], ["du"], ToolUse(("du", "df"), "api", True)),
        ("`free`", ["du"], ["free"], ToolUse(("du",), "api", False)),
        ("no tool", [], ["free"], ToolUse((), None, False)),
        ("", [], [], ToolUse((), None, False)),
    ],
)
def test_tool_use(text: str, calls: list[str], expected: list[str], use: ToolUse) -> None:
    assert tool_use(text, calls, expected) == use


@pytest.mark.parametrize(
    "unit",
    [
        "`",
        '"',
        "'",
        "` ",
        '"a ',
        "`a ",
        "```\n",
        "`sudo ",
        '"a="x" ',
        "$ ",
        "# \n",
        "a@",
        "a/",
        "\n",
        "1.",
    ],
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    """A megabyte of marks takes about half a second; quadratic work would take minutes."""
    text = unit * (MEGABYTE // len(unit))

    assert loops(lambda: detect_tools(text)) < 200


PIECES = [
    "`",
    "```",
    "\n",
    "\r\n",
    '"',
    "'",
    "$ ",
    "# ",
    "> ",
    "bash",
    "sudo ",
    "A=1 ",
    "free",
    "Du",
    "/",
    " ",
    "é",
]
TEXT = st.text(max_size=80) | st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@settings(max_examples=300, deadline=None)
@given(TEXT)
def test_any_text_gives_distinct_lower_case_names(text: str) -> None:
    names = detect_tools(text)
    assert len(set(names)) == len(names)
    assert all(name == name.lower() and name in text.lower() for name in names)


@given(st.lists(st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True), unique=True, max_size=6))
def test_names_come_back_in_the_order_they_were_written(names: list[str]) -> None:
    """Reading the names that were found gives them again."""
    written = [name for name in names if name != "sudo"]
    found = detect_tools(" ".join(f"`{name}`" for name in written))
    assert found == tuple(written)
    assert detect_tools("\n".join(f"[tool: {name}]" for name in found)) == found
