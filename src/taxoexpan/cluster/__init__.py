"""Placing new concepts with Ray, on the cores of one machine or on a cluster.

Exports `suggest_on_cluster`, its options `ClusterOptions`, and `check_ray`, which refuses early
if Ray is not installed.
"""

from taxoexpan.cluster.placement import ClusterOptions, check_ray, suggest_on_cluster

__all__ = ["ClusterOptions", "check_ray", "suggest_on_cluster"]
