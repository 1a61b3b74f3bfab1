"""Transcripts and pages of `analyze show`: what the lake and the artifacts say of a run."""
