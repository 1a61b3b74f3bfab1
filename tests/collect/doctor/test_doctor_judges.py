"""`collect doctor` looks at judges: their profile, key, endpoint and model."""

import pytest

from schemas.errors import ConfigError
from tests.collect.doctor.test_doctor_endpoints import OPENAI, pages
from tests.support.doctor import Doctor


def profile(doctor, name="strict", judges=(), **fields):
    base = {
        "schema_version": 1, "evaluation_profile_id": name, "title": name, "judges": list(judges),
        "judge_runs": [{"judge_run_id": one["judge_id"], "judge_id": one["judge_id"]}
                       for one in judges],
    }  # fmt: skip
    return doctor.project.write(f"configs/evaluation_profiles/{name}.yaml", base | fields)


@pytest.fixture
def judge(endpoint):
    """Return a judge on the scripted endpoint, which lists the model `r`."""
    endpoint.script = endpoint.look = pages({"/v1/models": OPENAI})

    def made(judge_id="main", **fields):
        base = {
            "judge_id": judge_id, "type": "llm_probe", "provider": "openai_chat", "model": "r",
            "base_url": endpoint.base_url,
        }  # fmt: skip
        return base | fields

    return made


def test_a_judge_is_looked_at_as_a_model_is(doctor: Doctor, judge, endpoint):
    profile(doctor, judges=[judge()], aggregation={"pass_threshold": 7})

    seen = doctor.look(None)

    assert seen.one("judges", "strict")["found"] == "1 judge, passes from 7"
    assert seen.one("models", "judge main")["state"] == "ok"
    assert seen.one("endpoints", endpoint.base_url)["state"] == "ok"
    assert seen.one("endpoints", endpoint.base_url)["details"]["models"] == ["judge main"]


def test_a_judge_without_its_key_or_its_model_fails(doctor, judge):
    profile(doctor, judges=[judge(model="q", api_key_env="JUDGE_API_KEY")])

    seen = doctor.look(None)

    assert seen.code == 1
    key = seen.one("keys", "JUDGE_API_KEY")
    assert key["state"] == "fail"
    assert "judge main cannot be asked without it" in key["found"]
    assert seen.one("models", "judge main")["state"] == "warn"
    assert seen.one("judges", "strict")["found"] == "1 judge, decides no verdict"


def test_several_profiles_are_told_apart_and_a_broken_one_hides_no_other(doctor, judge):
    for name in ("a", "b"):
        profile(doctor, name, [judge()])
    profile(doctor, "c", [judge(provider="claude_code_cli")])

    seen = doctor.look(None)

    assert seen.states("judges") == {"a": "ok", "b": "ok", "c": "fail"}
    assert (
        "collect validate configs/evaluation_profiles/c.yaml" in seen.one("judges", "c")["advice"]
    )
    assert {"judge a/main", "judge b/main"} <= seen.states("models").keys()


def test_a_profile_that_is_named_is_looked_at_alone(doctor, judge):
    for name in ("a", "b"):
        profile(doctor, name, [judge()])

    assert doctor.look("s", "b").states("judges") == {"b": "ok"}
    assert doctor.look("s").states("judges") == {}
    with pytest.raises(ConfigError, match="evaluation profile"):
        doctor.look("s", "nope")


def test_an_embedded_judge_needs_no_server(doctor):
    profile(doctor, judges=[{"judge_id": "own", "type": "llm_probe", "provider": "embedded"}])

    seen = doctor.look(None)

    assert seen.one("models", "judge own")["found"].endswith("from the packaged weights")
