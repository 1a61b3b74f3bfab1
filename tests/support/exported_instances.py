"""Instances of reports v2 and cases of runs, as exports find them."""

from analyze.exporters.majority import FoldedCase, FoldedModel
from schemas.formats.report_v2 import EvaluationReport


def instance(instance_id, status, **more):
    return {"instance_id": instance_id, "status": status, "solution_patch": "diff"} | more


def report(*instances, **more):
    return EvaluationReport(
        schema_version="2.0",
        run_id="r",
        model_name="acme/coder",
        dataset="d",
        start_time="2026-01-01T00:00:00Z",
        config={},
        instances=instances,
        summary={},
        **more,
    )


def case(case_id, status, **more):
    fields = dict.fromkeys(FoldedCase.__dataclass_fields__) | {
        "instance_id": case_id,
        "case_id": case_id,
        "status": status,
        "answer": "an answer",
        "answer_is_cut": False,
        "repetitions": (),
    }
    return FoldedCase(**fields | more)


def model(*cases, provider="openai"):
    return FoldedModel("r", "s", "m", provider, "acme/coder", None, None, cases)
