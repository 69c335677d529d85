"""SemEval-2016 Task 14: place new words in WordNet, and score the placements.

`task` reads and scores the task's files, `merges` decides on merges, `table` makes the table,
`wu_palmer` has the similarity that the task scores with, and `errors` groups wrong placements.
"""
