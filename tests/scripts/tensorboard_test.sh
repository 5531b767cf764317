#!/usr/bin/env bash
# Reads the logs back with Python's tensorboard, json and csv. The environment is kept in ~/.cache/levin; without it, and
# without a network to make it, nothing is tested.
set -euo pipefail
# shellcheck source=tests/scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly VENV=${LEVIN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/levin}/tensorboard-venv
readonly PACKAGES=(tensorboard==2.21.0 pillow==13.0.0 numpy==2.4.6 protobuf==7.36.2)

provide_tensorboard() {
  [[ -f $VENV/.complete ]] && return
  rm -rf "$VENV"
  python3 -m venv "$VENV" && "$VENV/bin/pip" install --quiet --retries 1 "${PACKAGES[@]}" && touch "$VENV/.complete"
}

if ! provide_tensorboard >"$SCRATCH/log" 2>&1; then
  printf 'skipped: tensorboard could not be installed: %s\n' "$(tail -n 1 "$SCRATCH/log")"
  exit
fi
cd "$ROOT"
"${LEVIN_BAZEL:-/usr/bin/bazel}" build //tests/parity/tensorboard:write_logs 2>"$SCRATCH/log" || { cat "$SCRATCH/log" && exit 1; }
bazel-bin/tests/parity/tensorboard/write_logs "$SCRATCH/logs"
"$VENV/bin/python" tests/parity/tensorboard/read_logs.py "$SCRATCH/logs"
