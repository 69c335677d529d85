"""SemEval-2016 Task 14."""
