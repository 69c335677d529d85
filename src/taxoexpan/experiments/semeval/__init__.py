"""SemEval-2016 Task 14: place new words in WordNet, and score the placements.

`semeval_task` reads and scores the task's files, `merges` decides on merges, `score_table` makes
the table, and `wu_palmer` has the similarity that the task scores with.
"""
