"""Writes and checks small safetensors files; called by make_golden.sh.

The tensors: a linear layer (field case A6), one [2, 3] tensor of each dtype with the values 0 to 5 (2 ** i for F8_E8M0,
i % 2 for BOOL, i - i * 1j for C64), an empty one and a scalar.
"""

import pathlib
import sys

import ml_dtypes
import numpy as np
from safetensors import deserialize
from safetensors.numpy import save_file

DTYPES = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
    "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8,
    "U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8,
    "BOOL": np.bool_, "C64": np.complex64,
    "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip


def values(name):
    ramp = np.arange(6)
    if name == "F8_E8M0":
        ramp = 2.0**ramp
    if name == "BOOL":
        ramp = ramp % 2
    if name == "C64":
        ramp = ramp - 1j * ramp
    return ramp.astype(DTYPES[name]).reshape(2, 3)


def tensors():
    result = {"fc.weight": values("BF16"), "fc.bias": np.array([1, 2], np.float32)}
    for name in DTYPES:
        result[f"dtype.{name}"] = values(name)
    result["empty"] = np.zeros((0, 4), np.float32)
    result["scalar"] = np.array(7, np.int64)
    return result


def make():
    here = pathlib.Path(__file__).parent
    save_file(tensors(), here / "with_metadata.safetensors", metadata={"format": "pt", "author": "Python"})
    save_file(tensors(), here / "without_metadata.safetensors")


def check(path):
    expected = tensors()
    found = dict(deserialize(pathlib.Path(path).read_bytes()))
    assert found.keys() == expected.keys(), found.keys() ^ expected.keys()
    for name, array in expected.items():
        entry = found[name]
        assert tuple(entry["shape"]) == array.shape, (name, entry["shape"], array.shape)
        assert bytes(entry["data"]) == array.tobytes(), (name, entry["data"], array.tobytes())
        if name.startswith("dtype."):
            assert entry["dtype"] == name.removeprefix("dtype."), (name, entry["dtype"])
    print(f"{path}: {len(found)} tensors, all equal")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make()
    else:
        for file in sys.argv[2:]:
            check(file)
