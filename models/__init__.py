"""Networks, their files, and the leaf evaluators made of them.

- `network`: what a kind of network is, and which there are: `ntuple`, `sparse`, `grid`, `torch` (`modules`).
- `files`: where a model is (path, run, shipped, Hugging Face Hub) and how it is read; `tensors` is the file itself, with checksum.
- `leaves`: any model as a leaf, those of other people (`sb3`) too. `units`: what a leaf's numbers mean to people.
- `players`: players and priors named by a text. `weights`: what ships.
"""

from leafwise.models.files import load_evaluator, load_network, save_network
from leafwise.models.leaves import named_leaf
from leafwise.models.network import Network, NetworkKind, register_network, torch_network
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
    "torch_network",
]
