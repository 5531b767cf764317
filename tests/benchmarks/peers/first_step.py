"""One training step of the MLP in Lightning with everything switched off, then the line "first step done".

Whoever starts this process measures the time until that line.
"""

from __future__ import annotations

import lightning
import torch
from torch.nn.functional import cross_entropy

from workloads import bare_trainer, mlp, repeated_batches, sgd


class Module(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.model = mlp()

    def training_step(self, batch, batch_index):
        return cross_entropy(self.model(batch[0]), batch[1])

    def on_train_batch_end(self, outputs, batch, batch_index) -> None:
        print("first step done", flush=True)

    def configure_optimizers(self):
        return sgd(self)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    bare_trainer(max_steps=1).fit(Module(), repeated_batches(1))


if __name__ == "__main__":
    main()
