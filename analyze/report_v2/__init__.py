"""Evaluation reports of schema v2: their files, text and older versions."""
