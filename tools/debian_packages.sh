# The Debian packages Windtunnel is built from, and how they get onto a machine. Sourced, not run.
#
# require_packages PACKAGE...  returns at once when all are there. As root with apt-get it installs
# what is missing (quietly, one line on stderr); anyone else is told the one apt line, and the script
# exits with 3: needed software missing.
# docs/dependencies.md says what each is for.

program_packages=(cmake ninja-build g++ libyaml-cpp-dev nlohmann-json3-dev libcli11-dev libfmt-dev
  libeigen3-dev libopenmpi-dev openmpi-bin)
test_packages=(libgtest-dev libbenchmark-dev python3)
check_packages=(clang-format-14 clang-tidy-19 ccache git)

# A tool may come from anywhere (pip's cmake, a distribution without dpkg): its command counts, not
# its package. Libraries are asked of dpkg; without dpkg, CMake finds them or says what it lacks.
declare -A command_of=([cmake]=cmake [ninja-build]=ninja [g++]=g++ [openmpi-bin]=mpirun [python3]=python3 [ccache]=ccache
  [git]=git [clang-format-14]=clang-format-14 [clang-tidy-19]=clang-tidy-19)

missing_packages() {
  local package libraries=()
  for package in "$@"; do
    if [[ -z ${command_of[$package]:-} ]]; then
      libraries+=("$package")
    elif ! command -v "${command_of[$package]}" >/dev/null; then
      echo "$package"
    fi
  done
  command -v dpkg-query >/dev/null || return 0
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${libraries[@]}" 2>/dev/null || true)
  for package in "${libraries[@]}"; do
    grep -qx "installed $package" <<<"$installed" || echo "$package"
  done
}

require_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "windtunnel: Debian packages are missing. Install them with:" >&2
    echo "  sudo apt-get install -y ${missing[*]}" >&2
    exit 3
  fi
  echo "windtunnel: installing ${missing[*]}" >&2
  install_packages "${missing[@]}"
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]})); then
    echo "windtunnel: still missing after apt-get: ${missing[*]}" >&2
    exit 3
  fi
}

# A machine may never have fetched its package lists, so a failed first try fetches them.
install_packages() {
  local output try
  for try in first after_update; do
    if output=$(DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      -o DPkg::Lock::Timeout=600 "$@" 2>&1 </dev/null); then
      return 0
    fi
    [[ $try == after_update ]] || apt-get update -qq >/dev/null 2>&1 </dev/null || true
  done
  echo "windtunnel: apt-get could not install $*:" >&2
  tail -n 5 <<<"$output" >&2
  exit 3
}
