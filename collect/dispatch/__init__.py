"""One plan made by several processes: a shard is a run folder, so nothing below it changes."""
