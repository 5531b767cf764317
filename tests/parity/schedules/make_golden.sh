#!/usr/bin/env bash
# Rewrites the golden file of this folder with PyTorch's own schedulers.
#
#   tests/parity/schedules/make_golden.sh
#
# Needs the Python environment of the benchmarks (tests/benchmarks/peers/setup makes it), or name another Python that has
# PyTorch 2.11 in LEVIN_PARITY_PYTHON.
set -euo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
python="${LEVIN_PARITY_PYTHON:-${here}/../../benchmarks/peers/.venv/bin/python}"
"${python}" "${here}/golden.py" > "${here}/golden.csv"
