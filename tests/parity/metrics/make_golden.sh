#!/usr/bin/env bash
# Rewrites scikit_learn.safetensors: inputs, and what scikit-learn makes of them. Needs Python 3.11 and PyPI; the
# environment is kept in ~/.cache/levin.
set -euo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
venv="${HOME}/.cache/levin/metrics-venv"
if [[ ! -x "${venv}/bin/python" ]]; then
  python3 -m venv "${venv}"
  "${venv}/bin/pip" install --quiet scikit-learn==1.7.2 safetensors==0.8.0 numpy==2.4.6
fi
"${venv}/bin/python" "${here}/golden.py" "${here}/scikit_learn.safetensors"
