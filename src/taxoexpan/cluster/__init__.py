"""Placement of new concepts with Ray, on the cores of one machine or on a cluster."""

from taxoexpan.cluster.placement import ClusterOptions, check_ray, suggest_on_cluster

__all__ = ["ClusterOptions", "check_ray", "suggest_on_cluster"]
