"""What must never crash, hang or fill the memory: one entry a mistake or an attack.

`build` bends a project that would load; `says` is a piece of the message that must come out of
`collect <command>`. Generated rather than stored: most would not survive git, an editor or a zip.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass

PLAN = ("plan", "--suite", "s", "--run-profile", "p")
VALIDATE = ("validate", ".")
CASE = "configs/cases/group/one"
HEAD = "schema_version: 1\ncase_id: one\ntitle: x\nrunner: {type: llm_probe}\n"
ASK = "input: {messages: [{role: user, content: x}]}\n"
USER = {"role": "user", "content": "x"}


@dataclass(frozen=True)
class Entry:
    """One hostile project."""

    name: str
    says: str
    build: Callable
    command: tuple[str, ...] = PLAN


def raw(relative, content):
    """Write bytes or text to a file of the project."""

    def build(project):
        path = project.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return build


def in_case(content):
    return raw(f"{CASE}/test.yaml", content)


def case(**fields):
    return lambda project: project.case(**fields)


def asks(**fields):
    return case(input={"messages": [USER]} | fields)


def validator(**fields):
    return case(validator=fields)


def checks(*declared):
    return case(deterministic_checks=[{"check_id": "c"} | one for one in declared])


def suite(**fields):
    return lambda project: (project.case(), project.suite(**fields))


def model(**fields):
    return lambda project: (project.case(), project.model(**fields))


def profile(**fields):
    return lambda project: (project.case(), project.profile(**fields))


def prompts(content, name="list.json"):
    def build(project):
        raw(f"configs/suites/{name}", content)(project)
        project.suite(prompt_lists=[name])

    return build


def sparse(relative, size=100_000_000):
    """A file that says it is large and takes no room."""

    def build(project):
        path = project.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.truncate(size)

    return build


def both(*builds):
    return lambda project: [build(project) for build in builds]


def link(relative, target, *, folder=False):
    def build(project):
        path = project.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target, target_is_directory=folder)

    return build


def pipe(relative):
    """A FIFO blocks whoever opens it."""

    def build(project):
        path = project.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    return build


def folder(relative):
    return lambda project: (project.root / relative).mkdir(parents=True)


def laughs(levels=9):
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels + 1)]
    return "\n".join(rows)


JUDGE = {"judge_id": "main", "type": "llm_probe", "model": "vendor/model"}
JUDGE_RUN = {"judge_run_id": "run", "judge_id": "main"}


def evaluation(**fields):
    def build(project):
        base = {"schema_version": 1, "evaluation_profile_id": "e", "title": "E"}
        base |= {"judges": [JUDGE], "judge_runs": [JUDGE_RUN]}
        project.case()
        project.write("configs/evaluation_profiles/e.yaml", base | fields)

    return build


def judge(**fields):
    return evaluation(judges=[JUDGE | fields])


AGENT = "configs/agents/helper"


def agent(*more, workspace=True, **fields):
    def build(project):
        base = {"schema_version": 1, "agent_id": "helper", "title": "Helper"}
        project.case()
        project.write(f"{AGENT}/agent.yaml", base | fields)
        if workspace:
            project.write(f"{AGENT}/workspace/AGENTS.md", "Be kind.\n")
        for build_more in more:
            build_more(project)

    return build


def assigned(*selections):
    assignments = [{"agent_id": "helper", "case_selection": one} for one in selections]
    return suite(openclaw={"agent_assignments": assignments})


def hook(**fields):
    return checks({"python_hook": {"callable_name": "f"} | fields})


def declared(**fields):
    return checks({"declarative": fields})


def many_files(project):
    for number in range(2_001):
        project.write(f"{AGENT}/workspace/notes/{number}.md", "x")


def prompt(**fields):
    return json.dumps([{"id": "P0", "prompt": "x"} | fields])


MIB = 1_000_000
W = f"{AGENT}/workspace"

YAML_FILES = [
    Entry("billion laughs", "unfolds into more than 100,000 values", in_case(laughs())),
    Entry("laughs in a suite", "unfolds into", raw("configs/suites/s.yaml", laughs())),
    Entry("laughs in a profile", "unfolds into", raw("configs/run_profiles/p.yaml", laughs())),
    Entry("anchor of itself", "holds an alias of itself", in_case("a: &x [*x]\n")),
    Entry("anchor through a map", "an alias of itself", in_case("a: &x {b: {c: *x}}\n")),
    Entry("deep flow list", "is nested deeper than 64", in_case("[" * 1_900_000)),
    Entry("deep flow map", "is nested deeper than 64", in_case("{a: " * 400_000)),
    Entry("deep block list", "is nested deeper than 64", in_case("- " * 900_000)),
    Entry("deep question marks", "is nested deeper than 64", in_case("? " * 900_000)),
    Entry("closed deep list", "nested deeper", in_case("a: " + "[" * 65 + "]" * 65)),
    Entry("deep small file", "nested deeper", in_case("a: " + "[" * 990 + "]" * 990)),
    Entry("a million scalars", "holds more than 100,000 values", in_case("[" + "a," * 900_000)),
    Entry("a million maps", "holds more than 100,000 values", in_case("[" + "{}," * 600_000)),
    Entry("a million equal keys", "holds more than", in_case("a:\n" * 600_000)),
    Entry("many equal keys", "gave up after 100 problems", in_case("a: 1\n" * 50_000)),
    Entry("many unknown keys", "and 19,", in_case("".join(f"k{n}: 1\n" for n in range(20_000)))),
    Entry("duplicate key", "duplicate key `title`", in_case(HEAD + ASK + "title: y\n")),
    Entry("duplicate key inside", "duplicate key `b`", in_case("a: {b: 1, b: 2}\n")),
    Entry("merge key", "merge keys are not supported", in_case("a: &x {b: 1}\nc: {<<: *x}\n")),
    Entry("python tag", "is not supported", in_case("a: !!python/name:os.system x\n")),
    Entry("python object", "is not supported", in_case("a: !!python/object/new:os.system [x]\n")),
    Entry("tag of one's own", "tag `!mine` is not supported", in_case("a: !mine x\n")),
    Entry("binary tag", "is not supported", in_case("a: !!binary aGk=\n")),
    Entry("tab as indent", "is not valid YAML", in_case("a:\n\tb: 1\n")),
    Entry("torn list", "is not valid YAML", in_case("a: [1, 2\nb: 3\n")),
    Entry("torn quote", "is not valid YAML", in_case('a: "x\n')),
    Entry("two documents", "is not valid YAML", in_case("a: 1\n---\nb: 2\n")),
    Entry("unknown alias", "found undefined alias", in_case("a: *nobody\n")),
    Entry("bell character", "is not valid YAML", in_case("a: \x07\n")),
    Entry("NUL byte", "holds a NUL byte", in_case(b"a: x\0y\n")),
    Entry("not UTF-8", "is not UTF-8 text", in_case(b"title: caf\xe9\n")),
    Entry("UTF-16", "is not UTF-8 text", in_case("title: x\n".encode("utf-16"))),
    Entry("empty file", "must hold a mapping at its top level; found nothing", in_case("")),
    Entry("only a BOM", "must hold a mapping", in_case(b"\xef\xbb\xbf")),
    Entry("BOM and a mistake", "`titel`: unknown key", in_case("\ufeff" + HEAD + "titel: x\n")),
    Entry("a list at the top", "found list", in_case("- 1\n")),
    Entry("text at the top", "found str", in_case("hello\n")),
    Entry("a list as key", "a key must be plain text", in_case("? [1]\n: 2\n")),
    Entry("not a number", "is not a number that can be used", in_case("a: .nan\n")),
    Entry("infinity", "is not a number that can be used", in_case("a: -.inf\n")),
    Entry("float beyond all", "too large or too long", in_case("a: 1e999\n")),
    Entry("endless float", "too large or too long", in_case("a: 0." + "1" * 1_900_000)),
    Entry("endless integer", "number is too long", in_case("a: " + "9" * 1_900_000)),
    Entry("endless hex", "number is too long", in_case("a: 0x" + "f" * 1_900_000)),
    Entry("integer past 64 bit", "number is too long", in_case("a: 9223372036854775808\n")),
    Entry("100 MB", "is too large; found 100,000,000 bytes", sparse(f"{CASE}/test.yaml")),
    Entry("a key of a megabyte", "unknown key", in_case(HEAD + ASK + "? " + "k" * MIB + "\n: 1")),
    Entry("terminal codes", "\\x1b[2J", in_case(HEAD + ASK + '"a\\e[2J\\nerror: b": 1\n')),
]  # fmt: skip

FILES = [
    Entry("a folder for a file", "is a directory", folder(f"{CASE}/test.yaml")),
    Entry("a pipe for a suite", "is not a regular file",
          both(case(), pipe("configs/suites/s.yaml"))),
    Entry("a pipe for a case", "is not a regular file", pipe(f"{CASE}/test.yaml")),
    Entry("a device for a suite", "is not a regular file",
          both(case(), link("configs/suites/s.yaml", "/dev/zero"))),
    Entry("a link to itself", "cannot be read",
          both(case(), link("configs/suites/s.yaml", "s.yaml"))),
    Entry("a link to nowhere", "no such file",
          both(case(), link("configs/suites/s.yaml", "gone.yaml"))),
    Entry("suite of no user", "no such file", case(),
          ("plan", "--suite", "~nobody-here/s.yaml", "--run-profile", "p")),
    Entry("endless suite id", "no suite `aaaa", case(),
          ("plan", "--suite", "a" * 5_000, "--run-profile", "p")),
    Entry("endless suite path", "cannot be read", case(),
          ("plan", "--suite", "./" + "a" * 5_000, "--run-profile", "p")),
    Entry("attachment above", "leaves the case's folder", asks(attachments=["../../../s.yaml"])),
    Entry("attachment absolute", "leaves the case's folder", asks(attachments=["/etc/passwd"])),
    Entry("attachment by link", "leaves the case's folder",
          both(asks(attachments=["l.txt"]), link(f"{CASE}/l.txt", "/etc/passwd"))),
    Entry("attachment link loop", "`input.attachments[0]`",
          both(asks(attachments=["l.txt"]), link(f"{CASE}/l.txt", "l.txt"))),
    Entry("attachment folder", "is a directory",
          both(asks(attachments=["d"]), folder(f"{CASE}/d"))),
    Entry("attachment pipe", "is not a regular file",
          both(asks(attachments=["p"]), pipe(f"{CASE}/p"))),
    Entry("attachment of 100 MB", "is too large",
          both(asks(attachments=["big"]), sparse(f"{CASE}/big"))),
    Entry("attachment of NULs", "holds a NUL byte",
          both(asks(attachments=["big"]), sparse(f"{CASE}/big", 7_000_000))),
    Entry("attachment not UTF-8", "is not UTF-8 text",
          both(asks(attachments=["b"]), raw(f"{CASE}/b", b"\xff\xfe\xfa"))),
    Entry("attachment missing", "no such file", asks(attachments=["gone.txt"])),
    Entry("attachment NUL name", "`input.attachments[0]`",
          in_case(HEAD + 'input: {messages: [{role: user, content: x}], attachments: ["a\\0"]}')),
    Entry("attachment long name", "`input.attachments[0]`", asks(attachments=["a" * 5_000])),
    Entry("source above", "leaves the case's folder",
          asks(messages=[{"role": "user", "source": {"path": "../../../suites/s.yaml"}}])),
    Entry("source in a circle", "a source file needs `content`",
          both(asks(messages=[{"role": "user", "source": {"path": "m.yaml"}}]),
               raw(f"{CASE}/m.yaml", "role: user\nsource: {path: m.yaml}\n"))),
    Entry("source of deep JSON", "is nested deeper than 64",
          both(asks(messages=[{"role": "user", "source": {"path": "m.json"}}]),
               raw(f"{CASE}/m.json", '{"a":' * 300_000))),
    Entry("source with equal keys", "duplicate key `role`",
          both(asks(messages=[{"role": "user", "source": {"path": "m.json"}}]),
               raw(f"{CASE}/m.json", '{"role": "user", "role": "system", "content": "x"}'))),
    Entry("hook above", "leaves the case's folder", hook(path="../../evil.py")),
    Entry("hook absolute", "must be relative", hook(path="/tmp/evil.py")),
    Entry("hook by import of code", "should match pattern", hook(import_path="os; import sys")),
    Entry("hook not a name", "should match pattern",
          hook(import_path="a.b", callable_name="f()")),
    Entry("hook from two places", "exactly one of `path` and `import_path`",
          hook(path="a.py", import_path="a.b")),
    Entry("check above", "leaves the case's folder",
          declared(kind="file_exists", path="a/../../x")),
    Entry("workspace check absolute", "must be relative",
          declared(kind="openclaw_workspace_file_present", relative_path="/etc/passwd")),
]  # fmt: skip

KINDS = [
    Entry("schema version true", "must be the integer 1", case(schema_version=True)),
    Entry("schema version 2", "must be the integer 1", case(schema_version=2)),
    Entry("unknown runner", "did you mean `llm_probe`", case(runner={"type": "llm_prob"})),
    Entry("unknown validator", "did you mean `exact`", validator(type="exakt", value="x")),
    Entry("validator without kind", "key `type` is missing", validator(value="x")),
    Entry("broken regex", "not a valid regular expression",
          validator(type="regex_fullmatch", pattern="(")),
    Entry("broken regex to search", "not a valid regular expression",
          validator(type="regex_search", pattern="*a")),
    Entry("regex to search that repeats for ever", "repeats more than",
          validator(type="regex_search", pattern="a{99999999999}")),
    Entry("blank text to look for", "every answer contains that",
          validator(type="contains", value=" ")),
    Entry("texts without a rule", "needs `match: all` or `match: any`",
          validator(type="contains", values=["a", "b"])),
    Entry("number in quotes", "should be a valid number, without quotes",
          validator(type="number", value="42")),
    Entry("regex too deep", "not a valid regular expression",
          validator(type="regex_fullmatch", pattern="(" * 5_000 + ")" * 5_000)),
    Entry("regex that repeats for ever", "repeats more than",
          validator(type="regex_fullmatch", pattern="a{99999999999}")),
    Entry("fuzzy regex", "not supported", validator(type="regex_fullmatch", pattern="(a){e<=2}")),
    Entry("range upside down", "`min` is above `max`",
          validator(type="json_keys", key_rules={"a": {"type": "range", "min": 2, "max": 1}})),
    Entry("unknown check", "did you mean `file_exists`", declared(kind="file_exist", path="x")),
    Entry("check without kind", "required key `kind` is missing", declared(path="x")),
    Entry("field of another check", "allowed: kind, path",
          declared(kind="file_exists", path="x", text="y")),
    Entry("check of two sorts", "exactly one of `declarative` and `python_hook`",
          checks({"declarative": {"kind": "final_response_present"},
                  "python_hook": {"import_path": "a", "callable_name": "f"}})),
    Entry("check twice", "is used twice",
          checks(*[{"declarative": {"kind": "final_response_present"}}] * 2)),
    Entry("contains in two styles", "`contains` cannot stand beside",
          declared(kind="openclaw_workspace_file_present", relative_path="x",
                   contains="a", contains_all=["b"])),
    Entry("rubric upside down", "`max` must be above `min`",
          case(rubric={"scale": {"min": 10, "max": 0}})),
    Entry("anchor off the scale", "anchor `11` is outside the scale",
          case(rubric={"scale": {"anchors": {"11": "Perfect."}}})),
    Entry("weightless expectation", "weight`: should be greater than 0",
          case(expectations={"hard_expectations": [{"text": "x", "weight": 0}]})),
    Entry("case id in capitals", "cannot be used as a name", case(case_id="One")),
    Entry("case id of another folder", "differs from its folder",
          in_case((HEAD + ASK).replace("case_id: one", "case_id: two"))),
    Entry("selection that takes nothing", "the suite selects no case",
          both(case(tags=["t"]), lambda project: project.suite(
              case_selection={"include_tags": ["t"], "exclude_tags": ["t"]}))),
    Entry("unknown case", "did you mean `one`",
          suite(case_selection={"include_case_ids": ["ome"]})),
    Entry("unknown exclusion", "no case has this id",
          suite(case_selection={"exclude_case_ids": ["ome"]})),
    Entry("two agents for a case", "matches two assignments",
          assigned({"include_case_ids": ["one"]}, {"include_case_ids": ["one"]})),
    Entry("agent for nothing", "needs `include_case_ids` or `include_tags`", assigned({})),
    Entry("models twice", "is used twice", suite(models=[{"model_id": "m"}] * 2)),
    Entry("models as a map", "should be a valid array", suite(models={"m": {}})),
    Entry("misspelt transport", "looks like the transport or server `openai_chat`",
          model(provider="openai_chatt")),
    Entry("server as vendor", "looks like the transport or server `ollama`",
          model(provider="ollama")),
    Entry("vllm as vendor", "looks like the transport", model(provider="vLLM")),
    Entry("key to a foreign host", "OPENAI_API_KEY is not sent there",
          model(provider="openai_chat", base_url="https://evil.example/v1")),
    Entry("standard key to a foreign host", "needs a key variable of its own",
          model(provider="openai_chat", base_url="https://evil.example/v1",
                api_key_env="OPENAI_API_KEY")),
    Entry("own key to a foreign host", "pass `--allow-host evil.example`",
          model(provider="openai_chat", base_url="https://evil.example/v1",
                api_key_env="EVIL_API_KEY")),
    Entry("host hidden by a user", "holds a user name or password",
          model(provider="openai_chat", base_url="https://api.openai.com@evil.example/v1")),
    Entry("file as address", "is not an http(s) URL", model(base_url="file:///etc/passwd")),
    Entry("port beyond all", "is not a URL", model(base_url="http://127.0.0.1:99999999/v1")),
    Entry("temperature as text", "runner_defaults.temperature",
          profile(runner_defaults={"temperature": "hot"})),
    Entry("retries below zero", "runner_defaults.retries",
          profile(runner_defaults={"retries": -1})),
    Entry("half a repetition", "run_repetitions",
          profile(execution_policy={"run_repetitions": 1.5})),
    Entry("nobody at once", "max_concurrency", profile(execution_policy={"max_concurrency": 0})),
    Entry("override of no model id", "model_overrides", profile(model_overrides={"A B": {}})),
]  # fmt: skip

PROMPT_LISTS = [
    Entry("prompts 100 MB", "is too large", both(
        prompts(b""), sparse("configs/suites/list.json"))),
    Entry("prompts of NULs", "holds a NUL byte", both(
        prompts(b""), sparse("configs/suites/list.json", 60 * MIB))),
    Entry("prompts deep", "should be an object", prompts("[" * 2 * MIB)),
    Entry("prompts deep inside", "is nested deeper than 64", prompts('[{"a":' + "[" * MIB)),
    Entry("prompts of nothing", "required key is missing", prompts("[" + "{}," * MIB + "{}]")),
    Entry("prompts of numbers", "should be an object", prompts("[" + "1," * 2 * MIB + "1]")),
    Entry("prompts that unfold", "one prompt has at most",
          prompts('[{"a": [' + "[]," * 6 * MIB + "[]]}]")),
    Entry("prompts without end", "does not end where the file does",
          prompts('[{"id": "' + "x" * 1_000)),
    Entry("prompts after the end", "does not end where the file does", prompts(prompt() + "]")),
    Entry("prompts after a comma", "ends after a comma", prompts('[{"id": "a", "prompt": "b"},]')),
    Entry("prompts as a map", "should be a valid array", prompts('{"id": "a"}')),
    Entry("prompts not JSON", "should be a valid array", prompts("id: a\n")),
    Entry("prompts not UTF-8", "is not UTF-8 text", prompts(b'[{"id": "\xff", "prompt": "x"}]')),
    Entry("prompts half a character", "is not valid JSON",
          prompts('[{"id": "a", "prompt": "\\ud800"}]')),
    Entry("prompts twice", "id becomes case_id `p0`",
          prompts('[{"id": "P0", "prompt": "x"}, {"id": "p0", "prompt": "y"}]')),
    Entry("prompts with a bad regex", "not a valid regular expression",
          prompts(prompt(validator={"type": "regex_fullmatch", "pattern": "["}))),
    Entry("prompts missing", "no such file", suite(prompt_lists=["gone.json"])),
    Entry("prompts from a pipe", "is not a regular file",
          both(suite(prompt_lists=["p.json"]), pipe("configs/suites/p.json"))),
    Entry("torn line", "is not valid JSON",
          prompts('{"id": "a", "prompt": "x"}\n{"id":', "l.jsonl")),
    Entry("deep line", "is nested deeper than 64", prompts('{"a":' * 300_000, "l.jsonl")),
    Entry("lines of nothing", "the suite selects no case", prompts("\n" * 20 * MIB, "l.jsonl")),
    Entry("endless line", "one prompt has at most", prompts('"' + "x" * 20 * MIB, "l.jsonl")),
]  # fmt: skip

EVALUATION = [
    Entry("judge twice", "is used twice", evaluation(judges=[JUDGE, JUDGE]), VALIDATE),
    Entry("judge run twice", "is used twice", evaluation(judge_runs=[JUDGE_RUN] * 2), VALIDATE),
    Entry("unknown judge", "did you mean `main`",
          evaluation(judge_runs=[JUDGE_RUN | {"judge_id": "mian"}]), VALIDATE),
    Entry("nobody asks the judge", "nothing says to ask them", evaluation(judge_runs=[]), VALIDATE),
    Entry("unknown judge type", "judges[0].type", judge(type="human"), VALIDATE),
    Entry("key in the file", "keys live in environment variables", judge(api_key="x"), VALIDATE),
    Entry("misspelt judge field", "did you mean `model`", judge(modle="x"), VALIDATE),
    Entry("judge with tools", "one plain call without tools",
          judge(request_options={"tools": []}), VALIDATE),
    Entry("judge misspelt transport", "looks like the transport", judge(provider="openruter"),
          VALIDATE),
    Entry("judge at a foreign host", "OPENROUTER_API_KEY is not sent there",
          judge(base_url="https://evil.example/v1"), VALIDATE),
    Entry("judge with another's key", "needs a key variable of its own",
          judge(base_url="https://evil.example/v1", api_key_env="OPENAI_API_KEY"), VALIDATE),
    Entry("vote without threshold", "`majority_vote` needs a `pass_threshold`",
          evaluation(aggregation={"method": "majority_vote"}), VALIDATE),
    Entry("threshold of 11", "aggregation.pass_threshold",
          evaluation(aggregation={"pass_threshold": 11}), VALIDATE),
    Entry("sample above repetitions", "`sample_size` is above `repetitions`",
          evaluation(judge_runs=[JUDGE_RUN | {"sample_size": 2}]), VALIDATE),
    Entry("two judge prompts", "cannot stand beside `judge_system_prompt_path`",
          evaluation(judge_system_prompt="x", judge_system_prompt_path="y"), VALIDATE),
    Entry("judge prompt above", "leaves the project",
          evaluation(judge_system_prompt_path="../../../x.md"), VALIDATE),
    Entry("judge prompt absolute", "leaves the project",
          evaluation(judge_system_prompt_path="/etc/passwd"), VALIDATE),
    Entry("judge prompt from a pipe", "is not a regular file",
          both(evaluation(judge_system_prompt_path="j.md"),
               pipe("configs/evaluation_profiles/j.md")), VALIDATE),
    Entry("judge prompt of 100 MB", "is too large",
          both(evaluation(judge_system_prompt_path="j.md"),
               sparse("configs/evaluation_profiles/j.md")), VALIDATE),
    Entry("laughs in a judge", "unfolds into",
          both(case(), raw("configs/evaluation_profiles/e.yaml", laughs())), VALIDATE),
    Entry("anchors twice", "is used twice",
          evaluation(anchors={"references": [{"anchor_id": "a", "label": "l", "text": "t"}] * 2}),
          VALIDATE),
]  # fmt: skip

AGENTS = [
    Entry("agent of another folder", "differs from its folder", agent(agent_id="other"), VALIDATE),
    Entry("agent without workspace", "needs a `workspace` folder",
          agent(workspace=False), VALIDATE),
    Entry("workspace is a file", "needs a `workspace` folder",
          agent(raw(W, "x"), workspace=False), VALIDATE),
    Entry("workspace is a link", "needs a `workspace` folder",
          agent(link(W, "/etc", folder=True), workspace=False), VALIDATE),
    Entry("workspace link outside", "leaves the workspace",
          agent(link(f"{W}/p", "/etc/passwd")), VALIDATE),
    Entry("workspace link upward", "leaves the workspace",
          agent(link(f"{W}/up", "..", folder=True)), VALIDATE),
    Entry("workspace link in a circle", "is a link to a folder",
          agent(link(f"{W}/self", ".", folder=True)), VALIDATE),
    Entry("workspace link to nowhere", "leads nowhere", agent(link(f"{W}/l", "gone")), VALIDATE),
    Entry("workspace pipe", "is not a regular file", agent(pipe(f"{W}/p")), VALIDATE),
    Entry("workspace 100 MB", "is too large", agent(sparse(f"{W}/big")), VALIDATE),
    Entry("workspace of nine files of 8 MB", "holds at most",
          agent(*[sparse(f"{W}/big{n}", 8 * MIB) for n in range(9)]), VALIDATE),
    Entry("workspace of 2,001 files", "holds fewer than", agent(many_files), VALIDATE),
    Entry("workspace too deep", "lies deeper than 16 folders",
          agent(folder(W + "/d" * 30)), VALIDATE),
    Entry("agent with fallbacks", "a run is of exactly one model",
          agent(openclaw={"model_defaults": {"fallbacks": ["x"]}}), VALIDATE),
    Entry("agent with a model", "the suite names the model",
          agent(openclaw={"agent": {"model": "x"}}), VALIDATE),
    Entry("agent torn", "is not valid YAML",
          agent(raw(f"{AGENT}/agent.yaml", "a: [")), VALIDATE),
    Entry("unknown agent", "did you mean `helper`",
          agent(lambda project: project.profile(
              openclaw={"agent_id": "helpre", "image": "i:1", "timeout_seconds": 1})), VALIDATE),
    Entry("file of no kind", "is of no known kind",
          raw("what.yaml", "title: x\n"), ("validate", "what.yaml")),
    Entry("file of two kinds", "`case_id` and `suite_id`",
          raw("what.yaml", "case_id: x\nsuite_id: x\n"), ("validate", "what.yaml")),
    Entry("a path that is not there", "no such file", case(), ("validate", "gone.yaml")),
    Entry("project file with a URL", "must be a host name alone",
          both(case(), raw("benchlake.yaml",
                           "schema_version: 1\nallowed_hosts: ['https://x.example']\n")), VALIDATE),
    Entry("project file of laughs", "unfolds into",
          both(case(), raw("benchlake.yaml", laughs())), VALIDATE),
]  # fmt: skip


def asks_for(**options):
    """A model whose requests would hold more than a question."""
    return both(case(), lambda project: project.model(request_options=options))


def option(text):
    """A request option as YAML has it, which no dumper would write."""
    models = "models: [{model_id: m, provider: ollama_openai, request_options: {x: %s}}]"
    suite = f"schema_version: 1\nsuite_id: s\ntitle: x\n{models % text}\n"
    return both(case(), raw("configs/suites/s.yaml", suite))


RUN = ("run", "--suite", "s", "--run-profile", "p")
SEVERAL = (
    "s.yaml:10: `models[0].request_options.n`: cannot be a request option: it asks for several"
)

REQUESTS = [
    *(Entry(f"eight answers at once, {command[0]}", SEVERAL, asks_for(n=8), command)
      for command in (VALIDATE, PLAN, RUN)),
    Entry("a judge of eight answers", "`judges[0].request_options.best_of`: cannot be a request",
          evaluation(judges=[JUDGE | {"request_options": {"best_of": 8}}]), VALIDATE),
    *(Entry(f"a request option {text}", "s.yaml:4: `models[0].request_options.x", option(text), RUN)
      for text in (".nan", "-.inf", "[1, .NaN]", "{y: 1e999}")),
    *(Entry(f"ten million at once, {command[0]}",
            "p.yaml:5: `execution_policy.max_concurrency`: is more than one collector can keep in "
            "flight; found `10000000`; allowed: at most 10,000",
            profile(execution_policy={"max_concurrency": 10**7}), command)
      for command in (VALIDATE, RUN)),
    Entry("a model of ten million at once", "`models[0].max_concurrency`: is more than one",
          both(case(), lambda project: project.model(max_concurrency=10**7)), RUN),
]  # fmt: skip

TOO_MUCH = [
    Entry("many attachments", "at most 32,000,000 bytes together",
          both(asks(attachments=["big"] * 400), raw(f"{CASE}/big", b"x" * 7_900_000))),
    Entry("regex of regexes", "it unrolls to over",
          validator(type="regex_fullmatch", pattern="((((a{255}){255}){255}){255})")),
    Entry("a list many times", "is named twice",
          both(prompts(prompt()), lambda p: p.suite(prompt_lists=["list.json"] * 50))),
    Entry("a trillion repetitions", "the plan would have",
          profile(execution_policy={"run_repetitions": 10**12})),
]  # fmt: skip

CORPUS = [*YAML_FILES, *FILES, *KINDS, *PROMPT_LISTS, *EVALUATION, *AGENTS, *REQUESTS, *TOO_MUCH]
