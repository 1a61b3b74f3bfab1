"""The command line as people use it: output, exit codes, and errors that say what to do."""

import json
import shutil
import subprocess
from functools import cache

import pytest

from collect.execute.mirror_process import MIRROR_MODULE
from tests.support import kept_run
from tests.support.endpoint import chunk, sse
from tests.support.interpreter import run_without

RUN = ("run", "--suite", "s", "--run-profile", "p")


@pytest.fixture
def collect(project):
    """Run `collect ...` in the project's folder and return the finished process."""
    return lambda *arguments, cwd=None, **environment: kept_run.collect(
        cwd or project.root, *arguments, **environment
    )


@pytest.fixture
def started(project):
    """The same from nothing, as a shell starts it."""
    return lambda *arguments: subprocess.run(
        kept_run.command(*arguments), cwd=project.root, capture_output=True, text=True, check=False
    )


def test_help_names_every_command(started):
    done = started("--help")

    assert done.returncode == 0
    for name in ("run", "plan", "demo", "init", "validate", "schema", "doctor"):
        assert f"\n  {name} " in done.stdout
    assert "..." not in done.stdout.partition("Commands:")[2], "a sentence is cut at 80 columns"


@pytest.mark.parametrize("name", ["run", "plan", "demo", "init", "validate", "schema", "doctor"])
def test_every_command_has_help(collect, name):
    done = collect(name, "--help")

    assert done.returncode == 0
    assert "Usage: " in done.stdout


def test_help_loads_nothing_heavy():
    models, engines = ("pydantic", "httpx", "rich", "yaml", "orjson"), ("pyarrow", "duckdb")
    done = run_without("import collect.cli", *models, *engines, "polars", "altair")
    assert done.stderr == ""


def test_a_run_never_loads_the_engines(project, endpoint):
    """pyarrow and duckdb in the collector's process would make its event loop late."""
    project.case()
    project.model(base_url=endpoint.base_url)
    code = (
        "import asyncio\nfrom collect.cli import app\nreal = asyncio.create_subprocess_exec\n"
        "def spawn(*command, **options):\n"
        f"    is_mirror = {MIRROR_MODULE!r} in command\n"
        "    return real(*(('cat',) if is_mirror else command), **options)\n"
        "asyncio.create_subprocess_exec = spawn  # the mirror is another process\n"
        "try: app(['run', '--suite', 's', '--run-profile', 'p'])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
    )
    run_without(code, "pyarrow", "duckdb", "polars", "altair", "numpy", cwd=project.root)


def test_run_prints_one_json_object(started, project, endpoint):
    project.case("good", validator={"type": "exact", "value": "Hello there."})
    project.case("bad", validator={"type": "exact", "value": "x"})
    project.model(base_url=endpoint.base_url)

    done = started("run", "--suite", "s", "--run-profile", "p", "--json")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert list(report) == [
        "run_id", "run_dir", "planned", "present", "ok", "success", "passed", "by_status",
        "wall_ms", "cost_usd", "n_cost_known", "n_open", "is_summed_up", "open_shifts",
        "judging", "report_path", "pushed_to", "exit_code",
    ]  # fmt: skip
    assert report["planned"] == report["present"] == report["ok"] == report["success"] == 2
    assert report["passed"] == 1
    assert report["by_status"] == {"success": 2}
    assert report["cost_usd"] is None
    assert report["wall_ms"] > 0
    assert (project.root / report["run_dir"] / "summary.json").exists()


def test_run_ids_are_times_in_utc_and_never_collide(project, endpoint):
    project.case()
    project.model(base_url=endpoint.base_url)

    ids = [
        json.loads(kept_run.collect_log(project.root, *RUN, "--json").stdout)["run_id"]
        for _ in range(2)
    ]

    assert len(set(ids)) == 2
    assert all(len(run_id) >= 15 and run_id[8] == "_" for run_id in ids)


def test_a_taken_or_unusable_run_id_is_refused(collect, project, endpoint):
    project.case()
    project.model(base_url=endpoint.base_url)
    again = ("run", "--suite", "s", "--run-profile", "p", "--run-id", "mine")
    kept_run.collect_log(project.root, *again)

    done = collect(*again)
    assert done.returncode == 2
    assert "exists already; choose another --run-id" in done.stderr

    for bad in ("../x", "lake", "", "a/b", ".hidden"):
        done = collect(*again[:-1], bad)
        assert (done.returncode, "not a run id" in done.stderr) == (2, True), bad


def test_the_name_of_a_run_that_only_the_lake_knows_is_refused(collect, project, endpoint):
    project.case()
    project.model(base_url=endpoint.base_url)
    again = ("run", "--suite", "s", "--run-profile", "p", "--run-id", "mine")
    assert collect(*again).returncode == 0
    shutil.rmtree(project.root / "runs" / "mine")

    done = collect(*again)

    assert done.returncode == 2
    assert "holds rows of a run `mine` whose folder is gone" in done.stderr


@pytest.mark.parametrize("command", ["run", "plan"])
def test_mistakes_end_with_2_and_no_traceback(started, project, command):
    project.case(titel="x")

    done = started(command, "--suite", "s", "--run-profile", "p")

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "test.yaml:" in done.stderr
    assert "did you mean `title`?" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project.root / "runs").exists(), "nothing was begun"


@pytest.mark.parametrize("arguments", [["run"], ["run", "--suite"], ["runn"], ["plan", "--x"]])
def test_usage_errors_end_with_2(collect, arguments):
    done = collect(*arguments)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_plan_sends_nothing_and_shows_settings_with_their_origin(collect, project, endpoint):
    project.case("one", tags=["t"], expected_tool_calls=["ls"])
    project.model(base_url=endpoint.base_url)
    project.profile(runner_defaults={"temperature": 0.25}, execution_policy={"run_repetitions": 3})

    text = collect("plan", "--suite", "s", "--run-profile", "p").stdout
    plan = json.loads(collect("plan", "--suite", "s", "--run-profile", "p", "--json").stdout)

    assert "1 model x 1 case x 3 repetitions: 3 trials" in text
    assert "temperature          0.25       from runner_defaults" in text
    assert plan["planned"] == len(plan["trials"]) == 3
    assert plan["models"][0]["settings"]["temperature"]["origin"] == "runner_defaults"
    assert plan["trials"][2]["repetition"] == 3
    assert endpoint.requests == []
    assert not (project.root / "runs").exists()


def test_plan_says_whether_a_key_is_set_and_never_what_it_is(collect, project):
    project.case()
    project.model(provider="openai_chat", api_key_env="X_API_KEY", base_url="http://127.0.0.1:9")

    unset = collect("plan", "--suite", "s", "--run-profile", "p")
    is_set = collect("plan", "--suite", "s", "--run-profile", "p", X_API_KEY="hunter2hunter2")
    as_json = collect(
        "plan", "--suite", "s", "--run-profile", "p", "--json", X_API_KEY="hunter2hunter2"
    )

    assert "key from X_API_KEY (NOT SET)" in unset.stdout
    assert "key from X_API_KEY (set)" in is_set.stdout
    assert json.loads(as_json.stdout)["models"][0]["api_key_present"] is True
    assert "hunter2" not in is_set.stdout + as_json.stdout


def test_plan_says_what_is_not_applied_and_who_chooses_the_upstream(collect, project):
    project.case()
    project.profile(runner_defaults={"temperature": 0})
    project.model(provider="claude_code_cli", base_url="http://127.0.0.1:9")
    cli = collect("plan", "--suite", "s", "--run-profile", "p")
    assert "  temperature          not applied" in cli.stdout
    assert "(not set, not needed here)" in cli.stdout

    project.model(provider="openrouter")
    routed = collect("plan", "--suite", "s", "--run-profile", "p", "--json")
    assert json.loads(routed.stdout)["models"][0]["routing"] == "unpinned"


def test_allow_host_lets_a_key_go_to_a_named_host(collect, project):
    project.case()
    project.model(provider="openai_chat", base_url="https://h.example/v1", api_key_env="H_API_KEY")
    plan = ("plan", "--suite", "s", "--run-profile", "p")

    refused = collect(*plan)
    allowed = collect(*plan, "--allow-host", "h.example")

    assert (refused.returncode, "--allow-host h.example" in refused.stderr) == (2, True)
    assert allowed.returncode == 0


def test_folders_of_the_users_own_are_not_taken_for_ours(collect, project, endpoint):
    for name in ("schemas", "collect", "analyze"):
        (project.root / name).mkdir()
        (project.root / name / "__init__.py").write_text("raise RuntimeError('the user`s own')\n")
    project.case()
    project.model(base_url=endpoint.base_url)

    done = collect("run", "--suite", "s", "--run-profile", "p")

    assert done.returncode == 0, done.stderr
    assert len(list((project.root / "runs").glob("*/summary.json"))) == 1, "the child ran too"


def test_init_writes_a_project_that_plans(collect, tmp_path):
    done = collect("init", "starter", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "collect plan --suite starter --run-profile demo" in done.stdout
    for name in ("schemas", "collect", "analyze"):
        assert not (tmp_path / "starter" / name).exists()

    for profile in ("demo", "standard"):
        planned = collect(
            "plan", "--suite", "starter", "--run-profile", profile, "--json",
            cwd=tmp_path / "starter",
        )  # fmt: skip
        assert planned.returncode == 0, planned.stderr
        assert len(json.loads(planned.stdout)["cases"]) >= 24


def test_editors_find_the_schema_of_every_file_of_the_starter_project(collect, tmp_path):
    collect("init", "starter", cwd=tmp_path)
    configs = tmp_path / "starter" / "configs"
    files = [*configs.glob("cases/*/*/test.yaml"), *configs.glob("suites/*.yaml"),
             *configs.glob("run_profiles/*.yaml")]  # fmt: skip
    assert len(files) >= 27
    printed = cache(lambda kind: collect("schema", kind).stdout)
    for path in files:
        hint, _, target = path.read_text().partition("\n")[0].partition("$schema=")
        assert hint == "# yaml-language-server: "
        schema = (path.parent / target).resolve()
        kind = schema.name.removesuffix(".schema.json")
        assert printed(kind) == schema.read_text()
        assert kind.rstrip("s") in {"case", "suite", "run_profile"}


def test_init_overwrites_nothing(collect, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")

    done = collect("init", "mine", cwd=tmp_path)

    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_a_model_file_that_is_none_is_explained(collect, tmp_path):
    bad = tmp_path / "x.gguf"
    bad.write_text("no model")

    done = collect("demo", "--model-file", bad)

    assert done.returncode == 1
    assert "is no GGUF file" in done.stderr
    assert "Traceback" not in done.stderr


def test_plan_says_what_is_new_since_the_last_run_and_why(collect, project, endpoint):
    project.case("one")
    project.case("two")
    project.model(base_url=endpoint.base_url)
    assert "every trial is new" in collect("plan", "--suite", "s", "--run-profile", "p").stdout
    kept_run.collect_log(project.root, *RUN, "--run-id", "first")

    project.case("two", validator={"type": "exact", "value": "x"})
    project.case("three")
    text = collect("plan", "--suite", "s", "--run-profile", "p").stdout
    plan = json.loads(collect("plan", "--suite", "s", "--run-profile", "p", "--json").stdout)

    assert "since run first: " in text
    assert "  changed: m two 1 (case)\n" in text
    assert "  new: m three 1 (case)\n" in text
    assert {trial["case_id"]: (trial["news"], trial["why"]) for trial in plan["trials"]} == {
        "one": ("same", []), "two": ("changed", ["case"]), "three": ("new", ["case"]),
    }  # fmt: skip
    assert plan["since_run_id"] == "first"


def test_plan_warns_of_a_time_limit_that_the_last_run_came_near(
    collect, project, endpoint, answers
):
    project.case("one")
    project.model(base_url=endpoint.base_url)
    endpoint.script = lambda wire, request: (wire.sleep(0.7), wire.stream(answers.stream_of("x")))
    assert collect("run", "--suite", "s", "--run-profile", "p").returncode == 0
    plan = ("plan", "--suite", "s", "--run-profile", "p")
    assert "timeout_seconds 30" not in collect(*plan).stdout

    project.profile(runner_defaults={"timeout_seconds": 1})

    assert "more than half of timeout_seconds 1: expect time-outs" in collect(*plan).stdout


def test_plan_estimates_cost_only_where_a_price_is_known(collect, project, endpoint):
    project.case("one")
    project.model(base_url=endpoint.base_url, max_tokens=100)
    plan = ("plan", "--suite", "s", "--run-profile", "p")
    assert "cost unknown: no price" in collect(*plan).stdout

    price = {"model": "r", "valid_from": "2026-01-01", "input_usd_per_million": 1,
             "output_usd_per_million": 10}  # fmt: skip
    project.write("benchlake.yaml", {"schema_version": 1, "prices": [price]})
    text = collect(*plan).stdout

    assert "project file benchlake.yaml (" in text
    estimate = json.loads(collect(*plan, "--json").stdout)["estimates"][0]
    assert estimate["cost_high_nano_usd"] == 1000 * estimate["input_tokens"] + 100 * 10_000


def test_plan_estimates_from_the_last_run_as_long_as_the_case_is_the_same(
    collect, project, endpoint
):
    project.case("one")
    project.model(base_url=endpoint.base_url, max_tokens=100)
    project.profile(execution_policy={"run_repetitions": 2})
    kept_run.collect_log(project.root, *RUN)
    with next((project.root / "runs").glob("*/results.jsonl")).open("a") as log:
        log.write('[1]\n{"torn')
    plan = ("plan", "--suite", "s", "--run-profile", "p", "--json")

    def estimate():
        (one,) = json.loads(collect(*plan).stdout)["estimates"]
        return one["input_tokens"], one["output_tokens_low"], one["output_tokens_high"]

    assert estimate() == (14, 6, 6), "7 in and 3 out, twice, as the endpoint said"

    project.case("one", validator={"type": "noop"})
    assert estimate()[1:] == (0, 200)


def test_plan_and_run_say_what_they_can_detect(collect, project, endpoint):
    for number in range(20):
        project.case(f"c{number:02d}", validator={"type": "max_words", "value": 9})
    project.model(base_url=endpoint.base_url)

    plan = collect("plan", "--suite", "s", "--run-profile", "p").stdout
    run = collect("run", "--suite", "s", "--run-profile", "p").stdout

    size = "20 scorable cases x 1 repetition can show a drop of"
    assert f"{size} 34.5 points or more between two nights" in " ".join(plan.split())
    said = " ".join(run.split()).split(size)[1].split(" or more")[0]
    assert ", four times in five, by the last runs; " in " ".join(run.split())
    assert "enough to show that nothing changed by" in " ".join(run.split())
    again = " ".join(collect("plan", "--suite", "s", "--run-profile", "p").stdout.split())
    assert f"{size}{said} or more" in again, "the run is a history by then"


def test_thresholds_of_the_project_are_in_force(collect, project, endpoint):
    project.case("one", expected_tool_calls=["ls"])
    project.model(base_url=endpoint.base_url)
    run = ("run", "--suite", "s", "--run-profile", "p", "--json", "--run-id")

    def tier(run_id):
        assert collect(*run, run_id).returncode == 0
        summary = json.loads((project.root / "runs" / run_id / "summary.json").read_text())
        return summary["models"][0]["tool_use"]["tier"]

    assert tier("usual") == 3
    thresholds = {"tier_1_from": 0.5, "tier_2_from": 0.0}
    project.write("benchlake.yaml", {"schema_version": 1, "thresholds": thresholds})
    assert tier("own") == 2


def test_a_run_says_what_to_distrust_by_the_thresholds_in_force(
    collect, project, endpoint, answers
):
    for number in range(4):
        project.case(f"c{number}", validator={"type": "max_words", "value": 9})
    project.model(base_url=endpoint.base_url)
    project.profile(runner_defaults={"retries": 0, "timeout_seconds": 3})

    def script(wire, request):
        if "c0" in request.body["messages"][0]["content"]:
            wire.answer({"error": "down"}, status=503)
        elif "c1" in request.body["messages"][0]["content"]:
            wire.sleep(6)
        else:
            wire.stream(answers.stream_of("ok"))

    endpoint.script = script
    run = ("run", "--suite", "s", "--run-profile", "p")

    said = collect(*run).stdout.replace("\n", " ")
    assert "m: only 75.0 % of the scorable trials have a verdict (limit 95 %)" in said
    assert "m: 25.0 % of the trials timed out (limit 5 %)" in said

    limits = {"min_coverage": 0.7, "timeout_warning_share": 0.3}
    project.write("benchlake.yaml", {"schema_version": 1, "thresholds": limits})
    assert "warning" not in collect(*run).stdout


def test_a_run_says_how_many_answers_were_cut_off_and_by_which_limit(collect, project, endpoint):
    for number in range(4):
        project.case(f"c{number}", validator={"type": "max_words", "value": 9})
    project.model(base_url=endpoint.base_url)
    project.profile(runner_defaults={"max_tokens": 16})

    def script(wire, request):
        finish = "length" if "c0" in request.body["messages"][0]["content"] else "stop"
        wire.stream(sse(chunk("on and on"), chunk(finish=finish)))

    endpoint.script = script
    run = ("run", "--suite", "s", "--run-profile", "p")

    said = " ".join(collect(*run).stdout.split())
    assert "m: 1 of 4 answers (25.0 %) was cut off at max_tokens 16 (limit 1 %)" in said

    limits = {"truncation_warning_share": 0.3}
    project.write("benchlake.yaml", {"schema_version": 1, "thresholds": limits})
    assert "cut off" not in collect(*run).stdout


def test_a_host_allowed_by_the_project_may_get_a_key(collect, project):
    project.case()
    project.model(provider="openai_chat", base_url="https://h.example/v1", api_key_env="H_API_KEY")
    project.write("benchlake.yaml", {"schema_version": 1, "allowed_hosts": ["h.example"]})

    done = collect("plan", "--suite", "s", "--run-profile", "p")

    assert done.returncode == 0, done.stderr
    assert "may send keys to h.example" in done.stdout


def test_selection_flags_reach_the_plan(collect, project, endpoint):
    for name in "abc":
        project.case(name, tags=[f"t{name}"])
    project.model(base_url=endpoint.base_url)
    plan = ("plan", "--suite", "s", "--run-profile", "p", "--json")

    def cases(*flags):
        return [trial["case_id"] for trial in json.loads(collect(*plan, *flags).stdout)["trials"]]

    assert cases("--case", "a", "--case", "c") == ["a", "c"]
    assert cases("--tag", "tb") == ["b"]
    assert cases("--max-trials", "1") == ["a"]
    assert cases("--shard", "2/2") == ["b"]
    assert cases("--model", "m") == ["a", "b", "c"]
    assert collect(*plan, "--case", "zz").returncode == 2
    assert collect(*plan, "--shard", "3/2").returncode == 2
    assert collect(*plan, "--max-trials", "0").returncode == 2


def test_schema_prints_a_json_schema_or_names_the_kinds(collect):
    assert "suite" in collect("schema").stdout.split()
    assert json.loads(collect("schema", "run_profile").stdout)["title"] == "RunProfile"
    wrong = collect("schema", "suit")
    assert (wrong.returncode, "did you mean `suite`?" in wrong.stderr) == (2, True)


def test_validate_reports_every_problem_of_a_project(collect, project):
    project.case("good")
    assert collect("validate").returncode == 0

    project.case("bad", titel="x")
    project.suite(titel="y")
    done = collect("validate", "--json")

    assert done.returncode == 2
    problems = json.loads(done.stdout)["problems"]
    assert {problem["key"] for problem in problems} >= {"titel"}
    assert {problem["nearest"] for problem in problems} == {"title"}
    assert len(problems) == 2
