"""Options that commands share: one name, one help text, one check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

SuiteOption = Annotated[
    str, typer.Option("--suite", metavar="ID|PATH", help="Suite: an id or a YAML file.")
]
ProfileOption = Annotated[
    str, typer.Option("--run-profile", metavar="ID|PATH", help="Run profile: an id or a file.")
]
StoredRun = Annotated[str, typer.Argument(metavar="RUN|latest", help="The run's id.")]
ResumeOption = Annotated[
    str | None,
    typer.Option("--resume", metavar="RUN_ID|latest", help="Complete a run as it was planned."),
]
ReuseOption = Annotated[
    bool, typer.Option("--reuse", help="Take answers of earlier runs where nothing changed.")
]
StoredSuiteOption = Annotated[
    str | None,
    typer.Option("--suite", metavar="ID|PATH", help="Whose cases. Default: the run's own."),
]
RunsOption = Annotated[Path, typer.Option("--runs", metavar="DIR", help="Where runs are kept.")]
AllowHostOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="HOST",
        help="Let HOST get a key of its own, or the searches of models. Repeatable.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
ReportOption = Annotated[
    bool, typer.Option("--report", help="Make report.html when it has ended; its path comes last.")
]
LakeOption = Annotated[
    str | None,
    typer.Option("--lake", metavar="URL", help="Push the run to this shared lake at its end."),
]
RunIdOption = Annotated[
    str | None, typer.Option("--run-id", metavar="ID", help="Default: YYYYMMDD_HHMMSS in UTC.")
]
CaseOption = Annotated[
    list[str] | None, typer.Option("--case", metavar="ID", help="Only this case. Repeatable.")
]
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only cases with it. Repeatable.")
]
ModelOption = Annotated[
    list[str] | None, typer.Option("--model", metavar="ID", help="Only this model. Repeatable.")
]
MaxTrialsOption = Annotated[
    int | None,
    typer.Option("--max-trials", metavar="N", min=1, help="At most N trials, models in turn."),
]
SkipUnevaluableOption = Annotated[
    bool,
    typer.Option(
        "--skip-unevaluable", help="Run without tools, runners and checks that are not there."
    ),
]
AnySuiteOption = Annotated[
    str | None, typer.Option("--suite", metavar="ID|PATH", help="Default: every suite here.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")
]
EvaluationOption = Annotated[
    str | None,
    typer.Option(
        "--evaluation-profile",
        metavar="ID|PATH",
        help="Evaluation profile: judges, whether hooks run, what is redacted.",
    ),
]
JudgesOption = Annotated[
    str | None,
    typer.Option(
        "--evaluation-profile",
        metavar="ID|PATH",
        help="Whose judges are asked. Default: the run's own.",
    ),
]
AgainstOption = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="RUN",
        help="Compare with the trials of this run, in place of scores.",
    ),
]
AgainstModelOption = Annotated[
    str | None,
    typer.Option(
        "--against-model",
        metavar="ID",
        help="Model of that run. Default: the one of the same name, or the only one.",
    ),
]
KeepWorkspacesOption = Annotated[
    Literal["all", "failed", "none"] | None,
    typer.Option(
        "--keep-workspaces", help="Whose files stay once the checks have run. Default: all."
    ),
]
WorkspacesOption = Annotated[
    int | None,
    typer.Option(
        "--workspaces-mb", metavar="MB", min=1, help="Of all files that stay. Default: 10000."
    ),
]
UnsafeOption = Annotated[
    bool,
    typer.Option(
        "--unsafe-no-sandbox", help="Run commands of a model, and hooks, locked in by nothing."
    ),
]
ShardOption = Annotated[
    str | None, typer.Option("--shard", metavar="i/n", help="The i-th of n parts of the plan.")
]
OptionalSuiteOption = Annotated[
    str | None, typer.Option("--suite", metavar="ID|PATH", help="Suite: an id or a YAML file.")
]
OptionalProfileOption = Annotated[
    str | None,
    typer.Option("--run-profile", metavar="ID|PATH", help="Run profile: an id or a file."),
]
ProcessesOption = Annotated[
    int | None,
    typer.Option(
        "--processes", metavar="N", min=1, help="Make N shards at once, in a process each."
    ),
]
ExecutorOption = Annotated[
    Literal["processes", "ray"] | None,
    typer.Option("--executor", help="Make the plan in shards, here or on a Ray cluster."),
]
AddressOption = Annotated[
    str | None,
    typer.Option("--address", metavar="HOST:PORT", help="Of the Ray cluster; default: Ray's own."),
]
ShardsOption = Annotated[
    int | None,
    typer.Option("--shards", metavar="N", min=1, help="For --executor; default: one a machine."),
]
LabelOption = Annotated[
    list[str] | None, typer.Option("--label", metavar="NAME", help="Name the run. Repeatable.")
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost", metavar="USD", min=0, max=1e6, help="Begin nothing that could go beyond it."
    ),
]
AssumePriceOption = Annotated[
    str | None,
    typer.Option(
        "--assume-price", metavar="IN/OUT", help="USD per million tokens of models without a price."
    ),
]
TableOption = Annotated[
    Path | None,
    typer.Option("--from", metavar="FILE", help="Make a suite of a .csv, .tsv, .jsonl or .json."),
]
InputColumnOption = Annotated[
    str | None, typer.Option("--input", metavar="COLUMN", help="Column with what is asked.")
]
ExpectedColumnOption = Annotated[
    str | None, typer.Option("--expected", metavar="COLUMN|none", help="Column with right answers.")
]
IdColumnOption = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN|none", help="Column that names a case.")
]
SystemColumnOption = Annotated[
    str | None, typer.Option("--system", metavar="COLUMN|none", help="Column with system messages.")
]
ValidatorOption = Annotated[
    Literal["exact", "contains", "number", "noop"] | None,
    typer.Option("--validator", help="In place of what the expected answers suggest."),
]
