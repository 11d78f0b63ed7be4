"""`--device`: what torch has here, for torch modules alone."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
import torch

import leafwise
from leafwise.training.runs.gating import GatedOptions, need_device


@pytest.mark.parametrize(
    ("device", "there", "network", "line"),
    [
        ("cuda", False, "mlp", "expected --device cpu, because torch finds no CUDA, got 'cuda'"),
        ("cuda:0", True, "sparse", "expected a torch module as --network with --device cuda:0, got 'sparse'"),
        ("meta", True, "mlp", "expected --device cpu or cuda, got 'meta'"),
        ("gpu", True, "mlp", "expected --device cpu or cuda, got 'gpu'"),
    ],
)
def test_a_device_that_there_is_not(
    device: str, there: bool, network: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    with pytest.raises(ValueError, match=f"^{line}$"):
        need_device(GatedOptions(game="trilobite", network=network, device=device))


def test_no_run_begins_there(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("torch finds CUDA")
    with pytest.raises(ValueError, match="no CUDA"):
        leafwise.train("trilobite", method="dqn", network="mlp", device="cuda", run=str(tmp_path / "x"))
    assert not (tmp_path / "x").exists()


def test_a_network_keeps_its_device_where_it_takes_other_weights() -> None:
    network: Any = leafwise.torch_network("trilobite", "mlp", hidden=4)
    tensors = network.tensors
    again = network.at("meta").with_tensors(tensors)
    assert again.device == "meta"
    assert {part.device.type for part in again.module.parameters()} == {"meta"}
    assert {name: list(part.shape) for name, part in again.module.state_dict().items()} == {
        name: list(part.shape) for name, part in tensors.items()
    }
