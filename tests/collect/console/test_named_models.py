"""What `collect` says to people names models by their labels; what programs read has ids."""

import json
from pathlib import Path

from analyze.summary.summarize import write_files
from collect.commands.plan import plan_json, plan_text, preview
from collect.console import run_summary
from collect.console.progress import RunReport
from collect.console.run_summary import detectable_lines
from collect.plan.plan import make_plan, sizes_of
from schemas.config.project import Thresholds
from schemas.run.model_names import ModelNames
from tests.support.run_builder import RunBuilder

LABEL = "Fast one"


def models(*labels):
    return [
        {"model_id": f"m{n}", "label": label, "provider": "openai_chat",
         "base_url": "http://127.0.0.1:9/v1", "requested_model": "r"}
        for n, label in enumerate(labels, start=1)
    ]  # fmt: skip


def test_a_plan_names_models_with_their_ids(project):
    project.case()
    project.suite(models=models(LABEL, "Twin", "Twin", None))
    shown = preview(project.load(), project.root / "runs")
    text = plan_text(shown)

    heads = [line.partition(":")[0] for line in text.splitlines() if line.startswith("model ")]
    assert heads == ["model Fast one (m1)", "model Twin (m2)", "model Twin (m3)", "model m4"]
    assert "Fast one, Twin (m2), Twin (m3)" in " ".join(text.split())
    assert LABEL not in plan_json(shown)


def test_what_is_new_in_a_plan_is_told_by_names(project):
    project.case()
    project.suite(models=models(LABEL))
    inputs = project.load()
    run_dir = project.root / "runs" / "r"
    run_dir.mkdir(parents=True)
    (run_dir / "config.json").write_text(json.dumps({"suite_id": "s", "started_at_ms": 1}))
    (trial,) = make_plan(inputs, "r")
    (run_dir / "plan.jsonl").write_text(trial.model_dump_json() + "\n")
    project.case(input={"messages": [{"role": "user", "content": "Another."}]})

    assert f"  changed: {LABEL} " in plan_text(preview(project.load(), run_dir.parent))


def test_a_doctor_names_models_and_its_json_has_ids(project, doctor):
    project.case()
    project.suite(models=models(LABEL))
    code, text = doctor.text()

    assert LABEL in text
    assert "m1 " not in text
    assert code == 1, "nobody is at this address"
    assert doctor.look().one("models")["subject"] == "m1"


def test_the_last_words_of_a_run_name_models(tmp_path, capsys):
    run = RunBuilder(tmp_path / "runs", "night")
    run.labels = {"m1": LABEL, "m2": "Sl\x1b[31mow"}
    for model_id in ("m1", "m2"):
        for case in range(4):
            trial = run.plan(f"case_{case}", 1, model_id)
            run.result(trial, **({"failure_type": "http_503"} if case else {}))
    write_files(run.path, run.summary())
    names = ModelNames(run.labels)
    lines = detectable_lines(sizes_of(run.trials), run.runs_dir, "smoke", Thresholds(), names)
    report = RunReport("night", str(run.path), planned=8, present=8)
    run_summary.show(report, "again", lines, Thresholds())
    out = capsys.readouterr().out

    assert f"│{LABEL} " in out
    assert "│Sl [31mow " in out
    assert f"warning: {LABEL}: only 25.0 % of the scorable trials" in " ".join(out.split())
    assert "m1" not in out.replace(str(Path(run.path)), "")
    assert lines
    assert LABEL in lines[0]
