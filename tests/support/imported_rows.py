"""What an import wrote, read by its declarations."""

import zstandard

from schemas.run.layout import LOG
from schemas.run.result import parse_line
from schemas.run.trace import REFERENCE, Artifact, trace_content


def results_of(run_dir):
    """The lines of a run's log, each read strictly."""
    lines = (run_dir / LOG).read_bytes().splitlines(keepends=True)
    return [parse_line(line) for line in lines]


def latest_of(run_dir):
    """The last line of each trial, by case and repetition."""
    return {(one.case_id, one.repetition): one for one in results_of(run_dir)}


def trace_of(run_dir, result):
    """The whole trace of a result."""
    match = REFERENCE.fullmatch(result.artifact_path)
    with (run_dir / match[1]).open("rb") as file:
        return Artifact.model_validate_json(trace_content(file, int(match[2])))


def all_traces(run_dir):
    """The text of all traces of a run."""
    reader = zstandard.ZstdDecompressor()
    files = sorted((run_dir / "artifacts").glob("*.zst"))
    return "".join(
        reader.stream_reader(path.read_bytes(), read_across_frames=True).read().decode()
        for path in files
    )
