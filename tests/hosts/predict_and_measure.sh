#!/usr/bin/env bash
# Does a prediction hold over a network? Eight hosts as network namespaces with limited rates and an
# oversubscribed uplink. Calibrates kernels on this machine's cores and links between the hosts,
# runs the plan with emulated compute and real transfers, simulates it, compares.
#   predict_and_measure.sh PROGRAM SCENARIO KERNELS NIC UPLINK STEPS COMPARE_OPTION...
# KERNELS: a scenario of the same layers that this machine's cores run at once; NIC, UPLINK: the
# rates that SCENARIO's cluster states, in megabits a second. Exit status: compare's; 77 where hosts
# cannot be made, with the reason. Keeps its files in $KEEP when that is set.
set -euo pipefail
program=$(readlink -f "$1") scenario=$(readlink -f "$2") kernels=$(readlink -f "$3")
nic=$4 uplink=$5 steps=$6
shift 6
here=$(dirname "$(readlink -f "$0")")
hosts_folder=$(mktemp -d)
source "$here/hosts.sh"
if ! reason=$(hosts_possible); then
  echo "skipped: $reason"
  rm -rf "$hosts_folder"
  exit 77
fi
trap 'remove_hosts; rm -rf "$hosts_folder"' EXIT
make_hosts "$nic" "$uplink"
cd "$hosts_folder"
cp "$scenario" plan.yaml
"$program" calibrate --for "$kernels" --budget "${KERNEL_BUDGET:-15s}" -o kernels.profile.json >kernels.txt
mpirun_on_hosts "$program" calibrate --for plan.yaml --emulate kernels.profile.json --budget "${LINK_BUDGET:-40s}" \
  -o hosts.profile.json >hosts.txt
mpirun_on_hosts "$program" run plan.yaml --emulate hosts.profile.json --steps "$steps" --json \
  >run.json
status=0
"$program" compare run.json plan.yaml "$@" || status=$?
[[ -z ${KEEP:-} ]] || cp -- *.json *.txt *.yaml "$KEEP"
exit "$status"
