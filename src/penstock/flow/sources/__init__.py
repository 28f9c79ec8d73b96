"""Where elements come from: one file for each idea."""
