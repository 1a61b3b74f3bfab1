"""What a user writes: cases, suites, profiles, projects."""
