#!/usr/bin/env bash
# Tests of scripts/setup. Nothing is downloaded or installed: pip, apt-get, df and others are stand-ins, the wheel is tiny.
# shellcheck disable=SC2317  # functions are called by their names
set -euo pipefail
# shellcheck source=tests/scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly WHEEL=torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl
output=
status=0

# ---- A machine of our own

# make_libtorch FOLDER VERSION
make_libtorch() {
  local major minor patch
  IFS=. read -r major minor patch <<<"$2"
  mkdir -p "$1/lib" "$1/include/torch/headeronly"
  echo library >"$1/lib/libtorch_cpu.so"
  printf '#define TORCH_VERSION_MAJOR %s\n\n#define TORCH_VERSION_MINOR %s\n\n#define TORCH_VERSION_PATCH %s\n' \
    "$major" "$minor" "$patch" >"$1/include/torch/headeronly/version.h"
}

make_wheel() {
  make_libtorch "$SCRATCH/wheel/torch" 2.11.0
  echo 'not for us' >"$SCRATCH/wheel/torch/__init__.py"
  (cd "$SCRATCH/wheel" && python3 -m zipfile -c "$SCRATCH/$WHEEL" torch)
}

# A toolkit, so that only LibTorch itself comes from a wheel.
make_toolkit() {
  mkdir -p "$SCRATCH/cuda/lib64"
  touch "$SCRATCH"/cuda/lib64/{libcudart.so.13,libcupti.so.13,libcublas.so.13}
}

# Every case starts with an empty cache on a machine that has all packages, a network and space.
new_machine() {
  rm -rf "$SCRATCH/cache" "$SCRATCH/calls" "${STAND_INS:?}"/*
  touch "$SCRATCH/calls"
  export LEVIN_CACHE=$SCRATCH/cache CUDA_HOME=$SCRATCH/cuda LEVIN_PYTHON=$STAND_INS/python SCRATCH WHEEL
  LEVIN_TEST_TORCH_SHA256=$(sha256sum <"$SCRATCH/$WHEEL")
  export LEVIN_TEST_TORCH_SHA256=${LEVIN_TEST_TORCH_SHA256%% *}
  unset TORCH_ROOT
  stand_in dpkg-query <<'END'
for package in "${@:3}"; do echo "installed $package"; done
END
  stand_in apt-get <<'END'
echo "apt-get $*" >>"$SCRATCH/calls"
END
  stand_in df <<'END'
printf 'Filesystem 1M-blocks Used Available Capacity Mounted\nx 9 9 %s 9%% /\n' "${FREE:-99999}"
END
  stand_in ldd <<'END'
echo "libc.so.6 => /lib/libc.so.6 (0x0)"
END
  stand_in python <<'END'
[[ $3 == --version ]] && exit
echo "pip $*" >>"$SCRATCH/calls"
while (($#)); do [[ $1 == --dest ]] && folder=$2; shift; done
cp "$SCRATCH/$WHEEL" "$folder/"
END
}

setup() {
  status=0
  output=$(PATH=$STAND_INS:$PATH "$ROOT/scripts/setup" "$@" 2>&1 </dev/null) || status=$?
}

count_calls() { grep -c "^$1" "$SCRATCH/calls" || true; }

is_complete() { [[ -s $LEVIN_CACHE/libtorch-2.11.0/torch/.complete ]]; }

has_no_leftovers() { ! compgen -G "$LEVIN_CACHE/unpacking.*" && ! compgen -G "$LEVIN_CACHE/downloads/*"; }

assert_fails_with_one_paragraph() {
  assert_equal 1 "$status" 'exit code 1'
  assert_equal 1 "$(grep -c '^setup: ' <<<"$output")" 'one message'
  assert_contains "$(tail -n 1 <<<"$output")" 'setup: '
}

# ---- Cases

fresh_install() {
  setup
  assert_equal 0 "$status" 'exit code 0'
  assert_true 'the marker is there' is_complete
  local torch=$LEVIN_CACHE/libtorch-2.11.0/torch
  assert_true 'the library is unpacked' test -f "$torch/lib/libtorch_cpu.so"
  assert_true 'the headers are unpacked' test -f "$torch/include/torch/headeronly/version.h"
  assert_true 'Python files are not' test ! -e "$torch/__init__.py"
  assert_true 'the run time is linked from the toolkit' test "$torch/../nvidia/cu13/lib/libcudart.so.13" -ef "$CUDA_HOME/lib64/libcudart.so.13"
  assert_true 'nothing temporary is left' has_no_leftovers
  assert_equal 0 "$(count_calls apt-get)" 'apt-get is not called where nothing is missing'
}

second_run_does_nothing() {
  setup
  local inode start
  inode=$(stat -c %i "$LEVIN_CACHE/libtorch-2.11.0/torch")
  start=$EPOCHREALTIME
  FREE=0 setup
  assert_true 'it takes under 2 s' test $((${EPOCHREALTIME/[.,]/} - ${start/[.,]/})) -lt 2000000
  assert_equal 0 "$status" 'exit code 0, even on a full disk'
  assert_equal 1 "$(count_calls pip)" 'one download in two runs'
  assert_equal "$inode" "$(stat -c %i "$LEVIN_CACHE/libtorch-2.11.0/torch")" 'the folder is the same'
}

folder_without_marker_is_replaced() {
  mkdir -p "$LEVIN_CACHE/libtorch-2.11.0/torch/lib"
  touch "$LEVIN_CACHE/libtorch-2.11.0/torch/lib/half"
  setup
  assert_equal 0 "$status" 'exit code 0'
  assert_true 'the marker is there' is_complete
  assert_true 'what was there is gone' test ! -e "$LEVIN_CACHE/libtorch-2.11.0/torch/lib/half"
}

wheel_in_the_cache_is_used() {
  mkdir -p "$LEVIN_CACHE/downloads"
  cp "$SCRATCH/$WHEEL" "$LEVIN_CACHE/downloads/"
  setup
  assert_true 'the marker is there' is_complete
  assert_equal 0 "$(count_calls pip)" 'no download'
}

corrupt_wheel_in_the_cache_is_replaced() {
  mkdir -p "$LEVIN_CACHE/downloads"
  head -c 100 "$SCRATCH/$WHEEL" >"$LEVIN_CACHE/downloads/$WHEEL"
  setup
  assert_equal 0 "$status" 'exit code 0'
  assert_contains "$output" "$WHEEL in the cache is broken"
  assert_equal 1 "$(count_calls pip)" 'one download'
  assert_true 'the marker is there' is_complete
}

wrong_wheel_from_the_index_is_refused() {
  export LEVIN_TEST_TORCH_SHA256=0123
  setup
  assert_fails_with_one_paragraph
  assert_contains "$output" 'torch 2.11.0 (531 MB) came with another checksum'
  assert_true 'no marker' test ! -e "$LEVIN_CACHE/libtorch-2.11.0"
  assert_true 'the wheel is not kept' has_no_leftovers
}

killed_while_downloading() {
  stand_in python <<'END'
[[ $3 == --version ]] && exit
while (($#)); do [[ $1 == --dest ]] && folder=$2; shift; done
head -c 100 "$SCRATCH/$WHEEL" >"$folder/$WHEEL"
kill -KILL $PPID
END
  setup
  assert_equal 137 "$status" 'it was killed'
  local cache=$LEVIN_CACHE
  mv "$cache" "$SCRATCH/kept" && new_machine && mv "$SCRATCH/kept" "$cache"
  setup
  assert_equal 0 "$status" 'the next run goes through'
  assert_equal 1 "$(count_calls pip)" 'with a download of its own'
  assert_true 'nothing temporary is left' has_no_leftovers
}

killed_while_unpacking() {
  stand_in unzip <<'END'
while (($#)); do [[ $1 == -d ]] && folder=$2; shift; done
mkdir -p "$folder/torch/lib"
echo half >"$folder/torch/lib/libtorch_cpu.so"
kill -KILL $PPID
END
  setup
  assert_equal 137 "$status" 'it was killed'
  assert_true 'nothing counts as complete' test ! -e "$LEVIN_CACHE/libtorch-2.11.0/torch"
  rm "$STAND_INS/unzip"
  setup
  assert_equal 0 "$status" 'the next run goes through'
  assert_equal 1 "$(count_calls pip)" 'with the wheel that was there already'
  assert_true 'the marker is there' is_complete
  assert_equal library "$(<"$LEVIN_CACHE/libtorch-2.11.0/torch/lib/libtorch_cpu.so")" 'the library is whole'
  assert_true 'nothing temporary is left' has_no_leftovers
}

no_network() {
  stand_in python <<'END'
[[ $3 == --version ]] && exit
echo 'WARNING: Retrying' >&2
echo 'ERROR: No matching distribution found for torch==2.11.0' >&2
exit 1
END
  setup
  assert_fails_with_one_paragraph
  assert_contains "$output" 'torch 2.11.0 (531 MB) could not be downloaded'
  assert_contains "$output" 'No matching distribution found'
  assert_contains "$output" "$WHEEL into $LEVIN_CACHE/downloads"
  assert_contains "$output" 'TORCH_ROOT'
  assert_true 'nothing temporary is left' has_no_leftovers
}

no_space() {
  FREE=300 setup
  assert_fails_with_one_paragraph
  assert_contains "$output" 'torch 2.11.0'
  assert_contains "$output" 'needs 1597 MB'
  assert_contains "$output" "in $LEVIN_CACHE"
  assert_contains "$output" '300 MB are free'
  assert_equal 0 "$(count_calls pip)" 'before any download'
}

small_wheels_where_there_is_no_toolkit() {
  export CUDA_HOME=$SCRATCH/nowhere
  setup
  # The stand-in brings LibTorch's wheel whatever is asked for, so the first small one cannot be right.
  assert_fails_with_one_paragraph
  assert_contains "$output" 'nvidia-cuda-runtime 13.0.96 (3 MB)'
  assert_true 'LibTorch itself is complete' is_complete
}

missing_library() {
  stand_in ldd <<'END'
printf '\tlibodd.so.7 => not found\n\tlibcuda.so.1 => not found\n'
END
  setup
  assert_fails_with_one_paragraph
  assert_contains "$output" 'libtorch_cpu.so'
  assert_contains "$output" 'it needs libodd.so.7, found'
}

cuda_build_without_toolkit() {
  setup --cuda
  assert_fails_with_one_paragraph
  assert_contains "$output" 'nvcc (cuda-toolkit-13-0)'
  assert_contains "$output" 'NCCL (libnccl-dev)'
}

own_libtorch() {
  make_libtorch "$SCRATCH/own" 2.11.1
  TORCH_ROOT=$SCRATCH/own setup
  assert_equal 0 "$status" 'exit code 0'
  assert_contains "$output" "LibTorch 2.11.1: yours, at $SCRATCH/own"
  assert_equal 0 "$(count_calls pip)" 'no download'
}

own_libtorch_that_is_none() {
  mkdir -p "$SCRATCH/empty"
  TORCH_ROOT=$SCRATCH/empty setup
  assert_fails_with_one_paragraph
  assert_contains "$output" "TORCH_ROOT=$SCRATCH/empty is not a LibTorch"
  TORCH_ROOT=relative setup
  assert_fails_with_one_paragraph
  assert_contains "$output" 'absolute'
}

own_libtorch_of_another_version() {
  make_libtorch "$SCRATCH/old" 2.4.0
  TORCH_ROOT=$SCRATCH/old setup
  assert_fails_with_one_paragraph
  assert_contains "$output" 'is LibTorch 2.4.0, and Levin needs 2.11'
}

two_at_once() {
  stand_in python <<'END'
[[ $3 == --version ]] && exit
echo "pip $*" >>"$SCRATCH/calls"
sleep 1
while (($#)); do [[ $1 == --dest ]] && folder=$2; shift; done
cp "$SCRATCH/$WHEEL" "$folder/"
END
  local first second=0
  (setup && exit "$status") &
  first=$!
  setup
  wait "$first" || second=$?
  assert_equal '0 0' "$status $second" 'both go through'
  assert_equal 1 "$(count_calls pip)" 'with one download'
  assert_true 'nothing temporary is left' has_no_leftovers
}

# zlib1g-dev and git are not installed; apt-get simulates and installs; apt-cache knows their sizes.
machine_without_two_packages() {
  stand_in dpkg-query <<'END'
for package in "${@:3}"; do
  [[ -e $SCRATCH/cache/installed || ! $package =~ ^(zlib1g-dev|git)$ ]] && echo "installed $package"
done
exit 1
END
  stand_in apt-get <<'END'
echo "apt-get $*" >>"$SCRATCH/calls"
[[ $1 == --simulate ]] && printf 'Inst git (1)\nInst zlib1g-dev (1)\n'
[[ $1 == install ]] && touch "$SCRATCH/cache/installed"
exit 0
END
  stand_in apt-cache <<'END'
printf 'Size: 7000000\nInstalled-Size: 40000\n'
END
  stand_in id <<'END'
echo 0
END
}

missing_packages_are_installed() {
  machine_without_two_packages
  setup
  assert_equal 0 "$status" 'exit code 0'
  assert_contains "$output" 'installing git zlib1g-dev (8 MB to download'
  assert_equal 1 "$(count_calls 'apt-get install .* git zlib1g-dev$')" 'only what was missing is installed'
}

no_space_for_packages() {
  machine_without_two_packages
  FREE=20 setup
  assert_fails_with_one_paragraph
  assert_contains "$output" 'the system packages git zlib1g-dev: it needs 99 MB in /usr'
  assert_contains "$output" '20 MB are free'
  assert_equal 0 "$(count_calls 'apt-get install')" 'before any download'
}

no_network_for_packages() {
  machine_without_two_packages
  stand_in apt-get <<'END'
[[ $1 == --simulate ]] && printf 'Inst git (1)\nInst zlib1g-dev (1)\n' && exit
echo 'E: Unable to fetch some archives'
exit 100
END
  setup
  assert_fails_with_one_paragraph
  assert_contains "$output" 'git zlib1g-dev (8 MB) could not be installed (Unable to fetch some archives)'
}

neither_root_nor_sudo() {
  machine_without_two_packages
  stand_in id <<'END'
echo 1000
END
  # A PATH in which there is no sudo.
  local tool
  for tool in bash env dirname uname awk mkdir cat basename; do ln -s "$(type -P "$tool")" "$STAND_INS/$tool"; done
  status=0
  output=$(PATH=$STAND_INS "$ROOT/scripts/setup" 2>&1) || status=$?
  assert_fails_with_one_paragraph
  assert_contains "$output" 'apt-get install --no-install-recommends git zlib1g-dev'
}

unsupported_platform() {
  stand_in uname <<'END'
[[ $1 == -s ]] && echo Darwin || echo arm64
END
  setup
  assert_fails_with_one_paragraph
  assert_contains "$output" 'Linux x86_64 only, and this is Darwin arm64'
}

unknown_option_and_help() {
  setup --coda
  assert_fails_with_one_paragraph
  assert_contains "$output" 'no option --coda'
  setup --help
  assert_equal 0 "$status" 'exit code 0'
  assert_contains "$output" 'TORCH_ROOT'
}

make_wheel
make_toolkit
for name in fresh_install second_run_does_nothing folder_without_marker_is_replaced wheel_in_the_cache_is_used \
  corrupt_wheel_in_the_cache_is_replaced wrong_wheel_from_the_index_is_refused killed_while_downloading killed_while_unpacking \
  no_network no_space small_wheels_where_there_is_no_toolkit missing_library cuda_build_without_toolkit own_libtorch \
  own_libtorch_that_is_none own_libtorch_of_another_version two_at_once missing_packages_are_installed \
  no_space_for_packages no_network_for_packages neither_root_nor_sudo unsupported_platform unknown_option_and_help; do
  new_machine
  run_case "$name"
done
finish
