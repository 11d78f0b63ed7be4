"""Networks, their files, and the leaf evaluators made of them."""

from leafwise.models.files import load_evaluator, load_network, save_network
from leafwise.models.leaves import named_leaf
from leafwise.models.network import Network, NetworkKind, register_network
from leafwise.models.ntuple import NTupleNetwork, load_ntuples
from leafwise.models.sparse import SparseNetwork, load_sparse

__all__ = [
    "NTupleNetwork",
    "Network",
    "NetworkKind",
    "SparseNetwork",
    "load_evaluator",
    "load_network",
    "load_ntuples",
    "load_sparse",
    "named_leaf",
    "register_network",
    "save_network",
]
