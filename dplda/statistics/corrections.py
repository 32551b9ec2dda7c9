"""The coefficients that turn LDA's moments into sums over topics (Anandkumar et al. 2012)."""

from __future__ import annotations


def coefficients(alpha0: float) -> tuple[float, float, float]:
    """(a, b, c3): M2 = E2 - a m m', M3 = E3 + b P(E2, m) + c3 m^3 (docs/privacy.md, section 0)."""
    return (
        alpha0 / (alpha0 + 1),
        -alpha0 / (alpha0 + 2),
        2 * alpha0**2 / ((alpha0 + 1) * (alpha0 + 2)),
    )
