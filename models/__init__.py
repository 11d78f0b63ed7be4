"""Networks, their files, and the leaf evaluators made of them."""

from leafwise.models.files import leaf, load_evaluator, load_network, save_network
from leafwise.models.network import Network, NetworkKind, register_network
from leafwise.models.ntuple import NTupleNetwork
from leafwise.models.ntuple_files import load_ntuples
from leafwise.models.sparse import SparseNetwork
from leafwise.models.sparse_files import load_sparse

__all__ = [
    "NTupleNetwork",
    "Network",
    "NetworkKind",
    "SparseNetwork",
    "leaf",
    "load_evaluator",
    "load_network",
    "load_ntuples",
    "load_sparse",
    "register_network",
    "save_network",
]
