"""Files of others and of ours, told apart by their content, and everything wrong with them."""
