"""Noise placements: a module for each, with its algorithm, budget shares, split and rules, and the registry of all.

The paper is DeCarolis et al. 2020 (docs/privacy.md, source [2]). An edge, e1 to e9, is an edge of the paper's graph of
the algorithm, and a configuration is a set of edges where noise is added. tensor-power adds the edge ``power``.
"""
