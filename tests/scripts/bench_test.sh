#!/usr/bin/env bash
# The benchmark runner's own tests.
set -euo pipefail
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/../benchmarks/run_test.py"
