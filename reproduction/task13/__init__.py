"""SemEval-2016 Task 13: its data as two releases of a taxonomy, and the page of its results.

The measurement is `reproduction.measurements.placements`.
"""
