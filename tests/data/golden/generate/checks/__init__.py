"""Evaluation of the cases from the files alone, with NumPy and plain Python: one module per family."""
