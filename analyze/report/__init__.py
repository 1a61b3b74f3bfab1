"""How numbers become text for people; computes none of them."""
