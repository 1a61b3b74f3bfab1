"""How far judges can be believed: agreement, bias and noise of what they said of stored trials."""
