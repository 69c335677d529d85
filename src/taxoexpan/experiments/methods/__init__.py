"""All compared methods behind one interface (`method.Method`): fit, set_anchors and score.

`method_registry.make_method` returns a method by its name.
"""
