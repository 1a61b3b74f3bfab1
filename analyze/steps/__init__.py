"""What happened inside trials, step by step: which steps somebody asks for."""
