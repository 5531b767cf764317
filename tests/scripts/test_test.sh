#!/usr/bin/env bash
# Tests of how scripts/test counts, with a stand-in for bazel that leaves the files that bazel would.
# shellcheck disable=SC2317  # functions are called by their names
set -euo pipefail
# shellcheck source=tests/scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

output=
status=0

# A clone of our own, whose setup does nothing.
new_clone() {
  rm -rf "$SCRATCH/clone" "$SCRATCH/events" "$SCRATCH/asked"
  mkdir -p "$SCRATCH/clone/scripts" "$SCRATCH/clone/tests/scripts"
  cp "$ROOT/scripts/test" "$ROOT/scripts/lib.sh" "$SCRATCH/clone/scripts/"
  ln -s /bin/true "$SCRATCH/clone/scripts/setup"
  touch "$SCRATCH/events"
  export LEVIN_BAZEL=$STAND_INS/bazel SCRATCH BAZEL_STATUS=0
  stand_in bazel <<'END'
echo "$*" >"$SCRATCH/asked"
for argument in "$@"; do
  [[ $argument == --build_event_json_file=* ]] && cp "$SCRATCH/events" "${argument#*=}"
done
exit "$BAZEL_STATUS"
END
}

run_test() {
  status=0
  output=$("$SCRATCH/clone/scripts/test" "$@" 2>&1 </dev/null) || status=$?
}

last_line() { tail -n 1 <<<"$output"; }

# target LABEL: bazel knows it as a test.   result LABEL STATUS [XML]: it ran.
target() { printf '{"id":{"targetConfigured":{"label":"%s"}},"configured":{"testSize":"MEDIUM"}}\n' "$1" >>"$SCRATCH/events"; }

result() {
  local file=$SCRATCH/${1//[:\/]/_}.xml
  target "$1"
  printf '%s' "${3:-}" >"$file"
  printf '{"id":{"testResult":{"label":"%s","run":1}},"testResult":{"status":"%s","testActionOutput":[{"name":"test.log","uri":"file:///none"},{"name":"test.xml","uri":"file://%s"}]}}\n' \
    "$1" "$2" "$file" >>"$SCRATCH/events"
}

suite() { printf '<testsuites><testsuite>%s</testsuite></testsuites>' "$*"; }

readonly GOOD='<testcase name="a" status="run" result="completed"/>'
readonly BAD='<testcase name="b" status="run"><failure message="1"/><failure message="2"/></testcase>'
readonly NOT_RUN='<testcase name="c" status="notrun"/><testcase name="d" status="run" result="skipped"><skipped/></testcase>'

# ---- Cases

all_pass() {
  result //tests/a:a PASSED "$(suite "$GOOD$GOOD$NOT_RUN")"
  result //tests/a:b PASSED "$(suite "$GOOD")"
  run_test
  assert_equal 0 "$status" 'exit code 0'
  assert_equal '3 passed, 0 failed' "$(last_line)" 'cases are counted, those that did not run are not'
}

a_case_fails() {
  result //tests/a:a FAILED "$(suite "$GOOD$BAD")"
  BAZEL_STATUS=3 run_test
  assert_equal 1 "$status" 'exit code 1'
  assert_equal '1 passed, 1 failed' "$(last_line)" 'two failures in one case are one'
}

failures_outside_any_case() {
  result //tests/a:cut FAILED '<testsuites><testsu'
  result //tests/a:exit FAILED "$(suite "$GOOD")"
  target //tests/a:unbuilt
  BAZEL_STATUS=1 run_test
  assert_equal '1 passed, 3 failed' "$(last_line)" 'each is one failure'
  assert_contains "$output" '//tests/a:unbuilt: did not build'
}

bazel_itself_fails() {
  result //tests/a:a PASSED "$(suite "$GOOD")"
  BAZEL_STATUS=1 run_test
  assert_equal '1 passed, 1 failed' "$(last_line)" 'it is one failure'
  assert_equal 1 "$status" 'exit code 1'
}

nothing_ran() {
  BAZEL_STATUS=4 run_test
  assert_equal 1 "$status" 'exit code 1'
  assert_equal '0 passed, 0 failed' "$(last_line)" 'nothing is counted'
  assert_contains "$output" 'No test ran.'
}

shell_tests_count_too() {
  result //tests/a:a PASSED "$(suite "$GOOD")"
  printf 'echo ok - one; echo not ok - two; exit 1\n' >"$SCRATCH/clone/tests/scripts/a_test.sh"
  printf 'exit 7\n' >"$SCRATCH/clone/tests/scripts/b_test.sh"
  run_test
  assert_equal '2 passed, 2 failed' "$(last_line)" 'their lines, and a bare exit code'
}

options() {
  result //tests/a:a PASSED "$(suite "$GOOD")"
  run_test --quick --asan --runs_per_test=2 //tests/a:a
  local asked
  asked=$(<"$SCRATCH/asked")
  assert_contains "$asked" '--test_size_filters=-large,-enormous'
  assert_contains "$asked" '--config=asan'
  assert_contains "$asked" '--test_tag_filters=-gpu,-manual,-benchmark'
  assert_contains "$asked" '--runs_per_test=2 -- //tests/a:a'
}

gpu_tests() {
  # What follows holds on a machine without a GPU; one with a GPU runs them in earnest.
  stand_in nvidia-smi <<<'exit 1'
  if compgen -G '/dev/nvidia[0-9]*' >/dev/null; then
    return
  fi
  result //tests/a:a PASSED "$(suite "$GOOD")"
  PATH=$STAND_INS:$PATH run_test
  assert_contains "$output" 'GPU tests left out: no CUDA device here'
  PATH=$STAND_INS:$PATH run_test --gpu
  assert_equal '0 passed, 1 failed' "$(last_line)" 'asked for by name they fail'
  stand_in nvidia-smi <<<'exit 0'
  PATH=$STAND_INS:$PATH run_test --gpu
  assert_contains "$(<"$SCRATCH/asked")" '--config=cuda'
  assert_contains "$(<"$SCRATCH/asked")" '--test_tag_filters=gpu,-manual,-benchmark'
}

for name in all_pass a_case_fails failures_outside_any_case bazel_itself_fails nothing_ran shell_tests_count_too options gpu_tests; do
  new_clone
  run_case "$name"
done
finish
