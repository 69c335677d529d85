"""Experiments: baseline methods, the paper's tables and figures, SemEval-2016 Task 14, and growth.

`methods` holds all methods behind one interface, `paper` runs and reports the experiments of the
paper, `semeval` scores placements in WordNet, and `growth` compares methods on two releases of a
taxonomy (`taxoexpan evaluate`). The packages export nothing themselves; import from their modules.
"""
