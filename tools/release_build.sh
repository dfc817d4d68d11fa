# The release build in build/: configured once, built under a lock, logged. Sourced, not run.
#
#   lock_build                 one process at a time works in build/; others wait
#   configure_build OPTION...  CMake with the `release` preset
#   build_targets TARGET...    ninja; no target means all
#   unlock_build
#
# A step that fails prints the end of its log and exits: 3 when the machine lacks something (a
# package, disk space, a writable folder), 70 when our sources do not compile. Nothing is marked as
# done by a failed step, so the next use starts where this one broke off; after a full disk it starts
# from nothing.
# Set before sourcing: root (the checkout).

build=$root/build

lock_build() {
  if ! mkdir -p "$build" 2>/dev/null || ! { : >>"$build/.lock"; } 2>/dev/null; then
    report_unwritable
  fi
  exec {build_lock}>>"$build/.lock"
  if ! flock --nonblock "$build_lock"; then
    echo "windtunnel: waiting for another build in $build" >&2
    flock "$build_lock"
  fi
}

report_unwritable() {
  echo "windtunnel: cannot write to $build: it needs a writable checkout and free disk space" >&2
  exit 3
}

unlock_build() {
  exec {build_lock}>&-
}

configure_build() {
  local fresh=()
  # A checkout copied with its build/ still points to the old place.
  if [[ -f $build/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    fresh=(--fresh)
  fi
  run_logged configure 3 cmake --preset release "${fresh[@]}" "$@"
}

build_targets() {
  run_logged build 70 cmake --build "$build" --target "${@:-all}"
}

# run_logged NAME EXIT_CODE COMMAND...: output to build/NAME.log; a terminal sees the last line move.
run_logged() {
  local name=$1 exit_code=$2 log=$build/$1.log status=0
  shift 2
  if [[ -t 2 ]]; then
    (cd "$root" && "$@" 2>&1 </dev/null {build_lock}>&-) | tee "$log" | show_last_line || status=$?
  else
    (cd "$root" && "$@" >"$log" 2>&1 </dev/null {build_lock}>&-) || status=$?
  fi
  ((status == 0)) || report_failure "$name" "$exit_code" "$log"
}

show_last_line() {
  local line
  while IFS= read -r line; do
    printf '\r\033[K%s' "${line:0:${COLUMNS:-80}}" >&2
  done
  printf '\r\033[K' >&2
}

report_failure() {
  local name=$1 exit_code=$2 log=$3
  tail -n 40 "$log" >&2 || true
  if disk_is_full "$log"; then
    # Tools do not all notice a write that failed, so nothing written here can be trusted.
    find "$build" -mindepth 1 -maxdepth 1 ! -name .lock ! -name '*.log' -exec rm -rf {} +
    echo "windtunnel: $name failed: no space left on the disk of $build" >&2
    exit 3
  fi
  echo "windtunnel: $name failed; the whole log is $log" >&2
  if [[ $name == configure ]]; then
    echo "windtunnel: on Debian or Ubuntu: sudo apt-get install -y ${program_packages[*]}" >&2
  fi
  exit "$exit_code"
}

disk_is_full() {
  local free_kib
  grep -q 'No space left on device' "$1" 2>/dev/null && return 0
  free_kib=$(df --output=avail -k "$build" | tail -n 1)
  ((free_kib < 1024))
}
