#!/usr/bin/env bash
# Runs the example in a folder of its own and looks at what it leaves.
set -euo pipefail
program=$PWD/$1
cd "$TEST_TMPDIR"
"$program"
run=runs/default/version_0
[[ $(tail -n 1 "$run/metrics.csv" | cut -d, -f2) == 2 ]] || { echo "the log does not end in the third epoch"; exit 1; }
[[ -f $run/checkpoints/last/model.safetensors ]] || { echo "there is no checkpoint"; exit 1; }
