"""The checks: one function for each thing that a rule demands, by kind of party."""
