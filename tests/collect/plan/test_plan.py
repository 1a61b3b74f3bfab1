"""The plan: every trial in order, and hashes that change when and only when they should."""

from collect.plan.plan import make_plan


def plan(project):
    return make_plan(project.load(), "r")


def test_the_plan_is_models_by_repetitions_by_cases(project):
    project.case("a")
    project.case("b")
    project.suite(models=[{"model_id": name, "provider": "ollama_openai"} for name in ("m1", "m2")])
    project.profile(execution_policy={"run_repetitions": 2})

    keys = [(trial.model_id, trial.repetition, trial.case_id) for trial in plan(project)]

    assert keys == [
        ("m1", 1, "a"), ("m1", 1, "b"), ("m1", 2, "a"), ("m1", 2, "b"),
        ("m2", 1, "a"), ("m2", 1, "b"), ("m2", 2, "a"), ("m2", 2, "b"),
    ]  # fmt: skip
    assert [trial.trial_no for trial in plan(project)] == list(range(8))


def parts(project):
    (trial,) = plan(project)
    return trial.fingerprint_parts.model_dump() | {"whole": trial.run_fingerprint}


def changed(project, change):
    before = parts(project)
    change()
    after = parts(project)
    return {name for name in before if before[name] != after[name]}


def base(project):
    project.case(validator={"type": "exact", "value": "x"})
    project.model(base_url="http://127.0.0.1:1/v1")


def test_what_reaches_the_model_or_decides_the_verdict_is_in_the_case_hash(project):
    base(project)
    message = {"role": "user", "content": "Other."}
    for fields in (
        {"validator": {"type": "exact", "value": "y"}},
        {"validator": None},
        {"expected_tool_calls": ["ls"]},
        {"input": {"messages": [message]}},
        {"input": {"messages": [message | {"name": "n"}]}},
    ):
        assert changed(project, lambda f=fields: project.case(**f)) == {"case", "whole"}, fields


def test_an_attachment_counts_by_its_content(project):
    attached = {"messages": [{"role": "user", "content": "x"}], "attachments": ["a.txt"]}
    project.case(input=attached)
    project.model()
    project.write("configs/cases/group/one/a.txt", "1")

    def rewrite():
        project.write("configs/cases/group/one/a.txt", "2")

    assert changed(project, rewrite) == {"case", "whole"}


def test_titles_tags_and_metadata_are_not_in_the_case_hash(project):
    base(project)
    before = parts(project)

    project.case(
        validator={"type": "exact", "value": "x"}, title="New", tags=["t"], metadata={"a": 1}
    )

    assert parts(project) == before


def test_sampling_settings_are_in_the_settings_part(project):
    base(project)
    for settings in (
        {"temperature": 1},
        {"temperature": 1, "top_p": 0.5},
        {"temperature": 1, "max_tokens": 9},
        {"temperature": 1, "seed": 9},
    ):
        change = lambda s=settings: project.profile(runner_defaults=s)  # noqa: E731
        assert changed(project, change) == {"settings", "whole"}, settings


def test_thinking_and_request_options_are_in_the_settings_part(project):
    base(project)
    url = "http://127.0.0.1:1/v1"
    for fields in ({"thinking_level": "low"}, {"request_options": {"min_p": 0.1}}):
        change = lambda f=fields: project.model(base_url=url, **f)  # noqa: E731
        assert changed(project, change) == {"settings", "whole"}, fields


def test_how_a_request_is_made_is_in_no_part(project):
    base(project)
    before = parts(project)

    project.profile(
        runner_defaults={"timeout_seconds": 7, "retries": 1, "stream": False},
        execution_policy={"max_concurrency": 4, "fail_fast": True},
        model_overrides={"other": {"temperature": 2}},
    )
    project.model(base_url="http://localhost:2/v1", label="New label")

    assert parts(project) == before, "a port or another name of this machine changes nothing"


def test_another_server_or_model_is_another_endpoint(project):
    base(project)
    for fields in (
        {"base_url": "http://127.0.0.1:1/v2"},
        {"base_url": "http://other.example/v1"},
        {"base_url": "http://127.0.0.1:1/v1", "requested_model": "other"},
    ):
        change = lambda f=fields: project.model(**f)  # noqa: E731
        assert changed(project, change) == {"endpoint", "whole"}, fields


def test_each_repetition_is_a_sample_of_its_own(project):
    project.case()
    project.profile(execution_policy={"run_repetitions": 3})

    assert len({trial.run_fingerprint for trial in plan(project)}) == 3
    assert len({trial.case_hash for trial in plan(project)}) == 1
