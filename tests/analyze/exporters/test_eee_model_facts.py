"""What an export says of a model and of how it was asked: what the run knows, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyze.exporters.eee.model_facts import AskedModel, generation_config, model_info
from analyze.exporters.eee.names import DEVICES, Place, model_id_of, seconds_of
from schemas.config.sandbox import SandboxLimits
from schemas.run.config import EffectiveSetting, EmbeddedServer, RunSandbox
from schemas.run.inventory import ServedModel
from tests.support.run_rows import config, planned

OLLAMA = ServedModel(model_id="m", is_ollama=True, server_version="0.9", quantization="Q4_K_M")
OTHER = ServedModel(model_id="m", is_ollama=False)


def asked(base_url="https://llm.example.org/v1", *, served=None, model="acme/one", **fields):
    """A model of a run whose settings are those of `fields`."""
    run = config([planned(model_id="m", model=model, provider="openai_chat")])
    (resolved,) = run.models
    resolved = resolved.model_copy(update={"base_url": base_url} | fields)
    return AskedModel("m", "openai_chat", model, None, resolved, served)


def details(one):
    return model_info(one)["additional_details"]


@pytest.mark.parametrize(
    ("base_url", "fields", "deployment"),
    [
        ("http://127.0.0.1:1/v1", {}, "self_deployed"),
        ("http://localhost:8080/v1", {}, "self_deployed"),
        ("http://[::1]:8080/v1", {}, "self_deployed"),
        ("http://10.0.0.7:8080/v1", {}, "unknown"),
        ("https://llm.example.org/v1", {}, "unknown"),
        ("https://api.openai.com/v1", {}, "externally_managed"),
        ("https://api.openai.com.example.org/v1", {}, "unknown"),
        ("https://llm.example.org/v1", {"routing": "pinned"}, "externally_managed"),
        ("https://llm.example.org/v1", {"served": OLLAMA}, "self_deployed"),
        ("https://llm.example.org/v1", {"served": OTHER}, "unknown"),
        (
            "http://127.0.0.1:1/v1",
            {"served": OLLAMA, "model": "big:1t-cloud"},
            "externally_managed",
        ),
    ],
)
def test_who_runs_a_model_is_said_where_it_is_certain(base_url, fields, deployment):
    found = details(asked(base_url, **fields))

    assert (found["deployment_type"], found["model_availability"]) == (deployment, "unknown")


def test_weights_are_open_where_they_are_the_packaged_ones():
    server = EmbeddedServer(context_tokens=4096, threads=2, engine="llama.cpp 1")
    own = server.model_copy(update={"model_file": "mine.gguf"})

    packaged, mine = asked(embedded=server), asked(embedded=own)

    assert details(packaged)["model_availability"] == "open_weights"
    assert details(mine)["model_availability"] == "unknown"
    assert details(mine)["deployment_type"] == "self_deployed"
    assert model_info(mine)["inference_engine"] == {"name": "llama.cpp 1"}


def test_what_an_ollama_says_stands_in_the_details():
    info = model_info(asked(served=OLLAMA))

    assert info["inference_engine"] == {"name": "Ollama", "version": "0.9"}
    assert info["additional_details"]["served_quantization"] == "Q4_K_M"


def test_settings_stand_in_the_fields_that_the_format_has_for_them():
    named = {
        "temperature": 0.5, "top_p": None, "max_tokens": 64, "timeout_seconds": 60, "retries": 2,
    }  # fmt: skip
    settings = {name: EffectiveSetting(value=v, origin="default") for name, v in named.items()}
    box = RunSandbox(backend="podman", image="box:1", limits=SandboxLimits())
    case = {"c1": {"max_tokens": EffectiveSetting(value=9, origin="case")}}
    run = config([planned(model_id="m")], sandbox=box, case_settings=case)

    found = generation_config(asked(settings=settings), run, ("df", "ls"))

    assert found == {
        "generation_args": {
            "temperature": 0.5, "max_tokens": 64, "eval_limits": {"time_limit": 60},
            "sandbox": {"type": "podman", "config": "box:1"},
            "agentic_eval_config": {"available_tools": [{"name": "df"}, {"name": "ls"}]},
        },
        "additional_details": {"retries": "2", "case_settings": '{"c1": {"max_tokens": 9}}'},
    }  # fmt: skip


@pytest.mark.parametrize("value", [True, 0, 1.5, "60", None])
def test_a_setting_of_another_kind_is_a_text(value):
    settings = {"max_tokens": EffectiveSetting(value=value, origin="default")}

    found = generation_config(asked(settings=settings), config([planned(model_id="m")]), ())

    assert found["generation_args"] == {}
    assert set(found["additional_details"]) == (set() if value is None else {"max_tokens"})


@pytest.mark.parametrize(
    ("model", "provider", "host", "expected"),
    [
        ("acme/one", "openrouter", "openrouter.ai", "acme/one"),
        ("acme/sub/one:free", "openrouter", None, "acme/sub/one:free"),
        ("gpt-4o", "openai_chat", "api.openai.com", "openai/gpt-4o"),
        ("llama3:8b", "ollama_openai", "127.0.0.1", "ollama_openai/llama3:8b"),
        ("one", "", None, "unattributed/one"),
        ("/one/", "p", None, "p/one"),
    ],
)
def test_the_developer_is_whom_the_model_names_else_the_service_else_the_transport(
    model, provider, host, expected
):
    assert model_id_of(model, provider, host) == expected


@given(st.text(max_size=400), st.text(min_size=1, max_size=400))
def test_no_text_makes_a_path_of_other_parts(model, suite):
    stem = Place(suite, model_id_of(model, "p"), 1).stem

    data, *named, uuid = stem.split("/")
    assert (data, len(named), uuid[14]) == ("data", 3, "4")
    for part in named:
        assert part.isprintable()
        assert not set(part) & set('<>:"\\|?*')
        assert not part.endswith((".", " "))
        assert part.partition(".")[0].upper() not in DEVICES | {""} or part.startswith(".")
        assert part not in {"data", "unknown"}
        assert len(part.encode()) < 256


def test_names_follow_from_suite_model_and_start_alone():
    one = Place("s", "acme/one", 1_763_762_400_000)

    assert one.evaluation_id == "s/acme/one/1763762400"
    assert one.stem == Place("s", "acme/one", 1_763_762_400_000).stem
    others = [
        Place("s", "acme/one", 1_763_762_400_001), Place("t", "acme/one", 1_763_762_400_000),
        Place("s", "acme/two", 1_763_762_400_000), Place("s", "acme/one", 1_763_762_400_000, "m2"),
    ]  # fmt: skip
    assert len({place.stem for place in (one, *others)}) == 5
    assert seconds_of(1_763_762_400_040) == "1763762400.040"
