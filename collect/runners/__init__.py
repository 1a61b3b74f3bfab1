"""How a case is executed: from a planned trial to what happened."""
