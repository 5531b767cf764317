"""PyTorch's DataLoader: batches a second on the data of tests/benchmarks/data_loading.

    data_loading.py images --workers N [--data FOLDER]
    data_loading.py tokens --workers N --file FILE

images: Fashion-MNIST in batches of 128, each image normalised, cropped at random (padding 2) and flipped at random.
tokens: 8 windows of 1024 tokens (input and target, int64) a batch, from a file of uint16.

Prints one JSON line: {"batches_per_second": ..., "first_batch_ms": ...}.
"""

from __future__ import annotations

import argparse
import gzip
import time
from pathlib import Path

import numpy
import torch
from torch.nn.functional import pad
from torch.utils.data import DataLoader, Dataset

from workloads import report

MEAN, DEVIATION = 0.2860, 0.3530
LENGTH = 1024


class Images(Dataset):
    def __init__(self, folder: Path) -> None:
        images = gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes())
        labels = gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes())
        self.images = torch.from_numpy(numpy.frombuffer(images, numpy.uint8, offset=16).reshape(-1, 1, 28, 28).copy())
        self.labels = torch.from_numpy(numpy.frombuffer(labels, numpy.uint8, offset=8).astype(numpy.int64))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int):
        image = self.images[index].float().div_(255).sub_(MEAN).div_(DEVIATION)
        top, left = torch.randint(5, (2,)).tolist()
        image = pad(image, (2, 2, 2, 2))[:, top : top + 28, left : left + 28]
        if torch.rand(()) < 0.5:
            image = image.flip(-1)
        return image, self.labels[index]


class Tokens(Dataset):
    def __init__(self, file: Path) -> None:
        self.tokens = numpy.memmap(file, numpy.uint16, "r")

    def __len__(self) -> int:
        return (len(self.tokens) - 1) // LENGTH

    def __getitem__(self, index: int):
        window = torch.from_numpy(self.tokens[index * LENGTH : (index + 1) * LENGTH + 1].astype(numpy.int64))
        return window[:-1], window[1:]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("images", "tokens"))
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--file", type=Path)
    parser.add_argument("--batches", type=int, default=400)
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    is_images = arguments.kind == "images"
    began = time.perf_counter()
    dataset = Images(arguments.data) if is_images else Tokens(arguments.file)
    loader = DataLoader(
        dataset, 128 if is_images else 8, shuffle=True, num_workers=arguments.workers, drop_last=True
    )
    batches = iter(loader)
    next(batches)
    first_batch_ms = (time.perf_counter() - began) * 1e3
    for _ in range(10):
        next(batches)
    began = time.perf_counter()
    for _ in range(arguments.batches):
        next(batches)
    seconds = time.perf_counter() - began
    report(batches_per_second=arguments.batches / seconds, first_batch_ms=first_batch_ms)


if __name__ == "__main__":
    main()
