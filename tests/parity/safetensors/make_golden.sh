#!/usr/bin/env bash
# Makes the golden files of this folder with Python's own safetensors, or checks files that Levin wrote with it.
#
#   tests/parity/safetensors/make_golden.sh                    rewrite the golden files
#   tests/parity/safetensors/make_golden.sh check FILE...      read files back and compare (see golden.py)
#
# The files that Levin wrote come from the test, which leaves them in its outputs:
#   bazel test //tests/trainer/core/files:safetensors_python_test
#   unzip -o bazel-testlogs/tests/trainer/core/files/safetensors_python_test/test.outputs/outputs.zip -d /tmp/written
#
# Needs Python 3.11 and PyPI; the environment is kept in ~/.cache/levin.
set -euo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
venv="${HOME}/.cache/levin/safetensors-venv"
if [[ ! -x "${venv}/bin/python" ]]; then
  python3 -m venv "${venv}"
  "${venv}/bin/pip" install --quiet safetensors==0.8.0 numpy==2.4.6 ml_dtypes==0.7.0
fi
"${venv}/bin/python" "${here}/golden.py" "${1:-make}" "${@:2}"
