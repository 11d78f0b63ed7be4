"""Networks, their files, and evaluators made of them.

- `network`: the interface of a kind of network, and the list of kinds: `ntuple`, `sparse`, `grid`, `torch` (`modules`).
- `files`: finds model files (path, run, shipped, Hugging Face Hub) and reads them; `tensors` is the file format, with checksum.
- `leaves`: makes an evaluator of any model, also of Stable-Baselines3 (`sb3`) and ONNX. `units`: what values mean to people.
- `players`: players and priors named by a text. `weights`: the shipped models.
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
