"""Networks, their files, and the leaf evaluators made of them."""

from leafwise.models.files import leaf, load_evaluator, load_network, load_sparse, save_network
from leafwise.models.ntuple import NTupleNetwork
from leafwise.models.sparse import SparseNetwork

__all__ = ["NTupleNetwork", "SparseNetwork", "leaf", "load_evaluator", "load_network", "load_sparse", "save_network"]
