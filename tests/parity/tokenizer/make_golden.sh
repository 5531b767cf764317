#!/usr/bin/env bash
# Rewrites the files of this folder with Hugging Face's tokenizers.
#
#   tests/parity/tokenizer/make_golden.sh
#
# Makes a Python environment of its own in a temporary folder, or name a Python that has tokenizers 0.21 in
# LEVIN_PARITY_PYTHON.
set -euo pipefail

here="$(cd "$(dirname "$0")" && pwd)"
python="${LEVIN_PARITY_PYTHON:-}"
if [[ -z ${python} ]]; then
  folder="$(mktemp -d)"
  trap 'rm -rf "${folder}"' EXIT
  python3 -m venv "${folder}/venv"
  "${folder}/venv/bin/pip" install --quiet tokenizers==0.21.4
  python="${folder}/venv/bin/python"
fi
"${python}" "${here}/golden.py"
