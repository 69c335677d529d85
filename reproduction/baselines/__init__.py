"""The trained baselines of the paper: dist-XGBoost, ParentMLP and DeepSetMLP."""
