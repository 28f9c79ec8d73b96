"""What things cost, in CPU time: ``python3 dev.py bench`` prints it. Reports, asserts nothing."""
