"""The parameter sets Theta: all of R^d, a ball, a box, the simplex, a polytope, products."""

from partial_monitoring.parameter_sets.ball import Ball
from partial_monitoring.parameter_sets.base import Halfspaces, ParameterSet, registered
from partial_monitoring.parameter_sets.box import Box
from partial_monitoring.parameter_sets.polyhedral import Polyhedral
from partial_monitoring.parameter_sets.polytope import Polytope
from partial_monitoring.parameter_sets.product import Product
from partial_monitoring.parameter_sets.simplex import Simplex
from partial_monitoring.parameter_sets.unconstrained import AllParameters

__all__ = [
    "AllParameters",
    "Ball",
    "Box",
    "Halfspaces",
    "ParameterSet",
    "Polyhedral",
    "Polytope",
    "Product",
    "Simplex",
    "registered",
]
