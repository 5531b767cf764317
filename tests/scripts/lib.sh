# shellcheck shell=bash
# What the shell tests share: a scratch folder, a folder of stand-ins for programs, and asserts that print `ok` or `not ok`.

# shellcheck disable=SC2034  # for those who source this
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SCRATCH=$(mktemp -d)
STAND_INS=$SCRATCH/bin
mkdir "$STAND_INS"
trap 'rm -rf "$SCRATCH"' EXIT

case_name=
good=0
bad=0

# A case is one function; its asserts are named after it.
run_case() {
  case_name=${1//_/ }
  "$1"
}

report() {
  if [[ $1 == ok ]]; then
    good=$((good + 1))
  else
    bad=$((bad + 1))
  fi
  printf '%s - %s: %s\n' "$1" "$case_name" "$2"
}

assert_equal() { # EXPECTED ACTUAL WHAT
  if [[ $1 == "$2" ]]; then
    report ok "$3"
  else
    report 'not ok' "$3: expected '$1', got '$2'"
  fi
}

assert_contains() { # TEXT PART
  if [[ $1 == *"$2"* ]]; then
    report ok "says '$2'"
  else
    report 'not ok' "does not say '$2' but: $1"
  fi
}

assert_true() { # WHAT COMMAND...
  if "${@:2}"; then
    report ok "$1"
  else
    report 'not ok' "$1"
  fi
}

# stand_in NAME: what comes on standard input is the program NAME from now on.
stand_in() {
  { echo '#!/usr/bin/env bash' && cat; } >"$STAND_INS/$1"
  chmod +x "$STAND_INS/$1"
}

finish() {
  printf '%d passed, %d failed\n' "$good" "$bad"
  ((bad == 0 && good > 0))
  exit
}
