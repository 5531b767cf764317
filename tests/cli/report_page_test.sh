#!/usr/bin/env bash
# Opens a report in a real browser, if there is one, and lets report_page_checks.js use it.
set -euo pipefail
program=$PWD/$1
checks=$PWD/$2

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -z $browser ]]; then
  echo "skipped: there is no Chromium to open the page with"
  exit 0
fi
cd "$TEST_TMPDIR"

# write_run VERSION LR: 200 steps of two epochs, with a NaN, and names that are markup.
write_run() {
  local run=runs/gpt/version_$1
  mkdir -p "$run"
  printf 'seed: 1\noptimizer:\n  class: SGD\n  lr: %s\n' "$2" >"$run/config.yaml"
  awk -v lr="$2" 'BEGIN {
    print "step,epoch,train_loss,val_loss,lr-SGD,\"<img src=x onerror=console.error(1)>\""
    for (i = 0; i < 200; ++i) printf "%d,%d,%s,%s,%g,1\n", i, i / 100, i == 50 ? "nan" : 1 / (1 + lr * i), i % 100 == 99 ? 0.5 - lr : "", lr
  }' >"$run/metrics.csv"
  printf '{"status": "failed", "error": "</script><script>console.error(2)</script>", "model": [{"name": "fc", "type": "Linear", "parameters": 10, "bytes": 40}],
    "time_split": [{"name": "forward", "seconds": 1, "share": 0.25}, {"name": "backward", "seconds": 3, "share": 0.75}],
    "sections": [{"title": "Finder", "curve": {"x_name": "lr", "y_name": "loss", "x": [1e-5, 1e-3], "y": [1, "nan"], "is_log_x": true, "marked_x": 1e-4}}]}' >"$run/run.json"
}

# check PAGE: the page with the checks behind it must end with the title "passed".
check() {
  local log=$1.log dom
  { cat "$1" && echo "<script>" && cat "$checks" && echo "</script>"; } >"$1.checked.html"
  dom=$(timeout 60 "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$TEST_TMPDIR/profile" \
    --window-size=1280,5000 --virtual-time-budget=10000 --enable-logging=stderr --dump-dom "file://$PWD/$1.checked.html" 2>"$log")
  if grep 'CONSOLE' "$log"; then
    echo "$1: the browser complains"
    return 1
  fi
  if [[ $dom != *"<title>passed</title>"* ]]; then
    grep -o '<title>.*</title>' <<<"$dom" || cat "$log"
    return 1
  fi
}

write_run 0 0.01
write_run 1 0.1
"$program" report runs/gpt/version_0 --output one.html
"$program" report runs/gpt --output two.html
check one.html
check two.html
