# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "leafwise[ntuple]",
#   "wandb==0.31.0",
# ]
# ///
"""Weights & Biases logs a run through its TensorBoard events."""

import wandb
from tensorboard.summary.writer import event_file_writer

import leafwise

FOLDER = "runs/wandb"
wandb.init(project="leafwise", mode="offline", sync_tensorboard=True)
event_file_writer.EventFileWriter(FOLDER).close()  # W&B watches each folder where such a writer was opened
leafwise.train("threes", "ntuple-td", run=FOLDER, total_steps=100_000)
wandb.finish()
