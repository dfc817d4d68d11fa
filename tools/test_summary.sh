# Runs CTest and closes with one line: `N passed, N failed` (`, N skipped`). Sourced, not run.
#
# run_ctest BUILD ARG...  returns 1 when a test failed or none was found. The line also stands in
# BUILD/tests.summary. Counts come from CTest's JUnit file, not from its text.

run_ctest() {
  local build_folder junit status=0
  build_folder=$(cd "$1" && pwd) # CTest takes a relative output path as one below --test-dir
  junit=$build_folder/tests.xml
  shift
  rm -f "$junit"
  ctest --test-dir "$build_folder" --parallel "$(nproc)" --no-tests=error --output-on-failure \
    --output-junit "$junit" "$@" </dev/null || status=1
  local tests failed skipped disabled
  tests=$(junit_count "$junit" tests)
  failed=$(junit_count "$junit" failures)
  skipped=$(junit_count "$junit" skipped)
  disabled=$(junit_count "$junit" disabled)
  local line="$((tests - failed - skipped - disabled)) passed, $failed failed"
  ((skipped + disabled == 0)) || line+=", $((skipped + disabled)) skipped"
  echo "$line" | tee "$build_folder/tests.summary"
  return "$status"
}

junit_count() {
  local count=0
  [[ ! -f $1 ]] || count=$(sed -n "/<testsuite /,/>/s/.*[[:space:]]$2=\"\([0-9]*\)\".*/\1/p" "$1" | head -n 1)
  echo "${count:-0}"
}
