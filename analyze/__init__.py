"""Analysis of every run ever made: SQL views, statistics, summaries. Never talks to a model."""
