#!/usr/bin/env bash
# Rewrites the .npy files of this folder with NumPy. Needs Python 3.11 and PyPI; the environment is kept in
# ~/.cache/levin.
set -euo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
venv="${HOME}/.cache/levin/numpy-venv"
if [[ ! -x "${venv}/bin/python" ]]; then
  python3 -m venv "${venv}"
  "${venv}/bin/pip" install --quiet numpy==2.4.6
fi
"${venv}/bin/python" "${here}/golden.py" "${here}"
