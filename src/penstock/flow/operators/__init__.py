"""How the operators work: one file for each idea."""
