# shellcheck shell=bash
# What the scripts share. It is sourced, and runs nothing by itself.

# shellcheck disable=SC2034  # for those who source this
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*"; }

heading() { printf '\n== %s\n' "$*"; }

# One paragraph that says what is wrong and what to do; always exit code 1.
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# The comment at the top of a script is its help text.
print_help() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0"; }

# Debian's Bazel by its full path: another one (bazelisk, say) may come first in PATH, and would need a network.
bazel() { "${LEVIN_BAZEL:-/usr/bin/bazel}" "$@"; }

# A device node is enough where nvidia-smi is not installed, as in many containers. /dev/dxg is Windows' Linux.
has_cuda_device() {
  nvidia-smi -L >/dev/null 2>&1 || compgen -G '/dev/nvidia[0-9]*' >/dev/null || [[ -e /dev/dxg ]]
}
