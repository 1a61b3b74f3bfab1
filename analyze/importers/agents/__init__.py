"""What agents have left of their own: trajectories of mini-swe-agent, sessions of others."""
