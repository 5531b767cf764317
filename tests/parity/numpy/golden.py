"""Writes small .npy files with NumPy; called by make_golden.sh.

Each array is the ramp 0 to 5 as [2, 3] (i % 2 for bool, i - i * 1j for complex numbers), in each dtype, byte order and
memory order, and once in each version of the format.
"""

import pathlib
import sys

import numpy as np

DTYPES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def ramp(dtype):
    values = np.arange(6).reshape(2, 3)
    if dtype == "b1":
        values = values % 2
    if dtype.startswith("c"):
        values = values - 1j * values
    return values


def save(path, array, version=None):
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version, allow_pickle=True)


def main(folder):
    for dtype in DTYPES:
        for order, name in [("<", "little"), (">", "big")]:
            array = ramp(dtype).astype(order + dtype)
            save(folder / f"{dtype}_{name}.npy", array)
            save(folder / f"{dtype}_{name}_fortran.npy", np.asfortranarray(array))
    for version in [(1, 0), (2, 0), (3, 0)]:
        save(folder / f"version_{version[0]}.npy", ramp("f4").astype("<f4"), version)
    save(folder / "scalar.npy", np.array(7, "<i8"))
    save(folder / "empty.npy", np.zeros((0, 3), "<f4"))
    save(folder / "three_dims.npy", np.arange(24, dtype="<i4").reshape(2, 3, 4))
    save(folder / "three_dims_fortran.npy", np.asfortranarray(np.arange(24, dtype="<i4").reshape(2, 3, 4)))
    save(folder / "structured.npy", np.zeros(2, [("x", "<f4"), ("y", "<i4")]))
    save(folder / "object.npy", np.array([1, "a", None], dtype=object))
    save(folder / "text.npy", np.array(["a", "bc"]))
    save(folder / "date.npy", np.array(["2020-01-01"], dtype="datetime64[D]"))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
