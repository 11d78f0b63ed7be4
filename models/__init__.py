"""Networks, their files, and the leaf evaluators made of them."""

from leafwise.models.files import leaf, load_evaluator, load_network, save_network
from leafwise.models.ntuple import NTupleNetwork

__all__ = ["NTupleNetwork", "leaf", "load_evaluator", "load_network", "save_network"]
