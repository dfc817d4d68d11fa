# Hosts of a small cluster on one machine: network namespaces behind leaf switches and a spine.
# Sourced.
#
#   host 0 --nic--> leaf 0 --uplink--> spine <--uplink-- leaf 1 <--nic-- host 1, and so on
#
#   hosts_possible               why not, on standard output; status 1 when it cannot be done
#   make_hosts NIC UPLINK        eight hosts; megabits a second, both directions
#   remove_hosts
#   mpirun_on_hosts WORD...      mpirun with a rank on each host, over TCP between them
#
# A rate is a token bucket (tc htb) where packets leave, at both ends of a link. Each host has a leaf
# of its own, so an uplink is a host's even part of what a larger leaf's hosts share: what a
# scenario's `oversubscription` means. Set before sourcing: hosts_folder (for files).

hosts_count=8
hosts_prefix=wt$$
hosts_net=10.77.0
# What passes at full speed after a pause is short, under a millisecond.
hosts_bucket="burst 16kb cburst 16kb quantum 20000"
hosts_mtu=9000  # fewer packets: eight hosts and nine switches share this machine's cores

hosts_possible() {
  local tool
  for tool in ip tc mpirun; do
    command -v "$tool" >/dev/null || { echo "there is no '$tool' here"; return 1; }
  done
  if ! ip netns add "$hosts_prefix-try" 2>/dev/null; then
    echo "network namespaces are not permitted here (needs root, or CAP_SYS_ADMIN)"
    return 1
  fi
  local reason=
  if ! { ip netns exec "$hosts_prefix-try" ip link add try0 type veth peer name try1 &&
    ip netns exec "$hosts_prefix-try" ip link add tryb type bridge &&
    limit 10 try0 dst ip netns exec "$hosts_prefix-try"
  } 2>/dev/null; then
    reason="this kernel has no veth, bridge, htb or u32"
  fi
  ip netns del "$hosts_prefix-try"
  [[ -z $reason ]] || { echo "$reason"; return 1; }
}

in_switch() {
  ip netns exec "$hosts_prefix-switch" "$@"
}

# Acknowledgements (packets under 128 bytes) go first: behind the data of the other direction they
# would hold up the data they acknowledge, which costs a sixth of the rate both ways at once. Data of
# different peers take turns, as the queue pairs of a NIC do: in one queue a long transfer would hold
# up a short one.
limit() { # megabits a second, the device, peers by dst or src, then how to run tc there
  local rate=$1 device=$2 side=$3 i
  shift 3
  "$@" tc qdisc add dev "$device" root handle 1: htb default 20
  "$@" tc class add dev "$device" parent 1: classid 1:1 htb rate "${rate}mbit" $hosts_bucket
  "$@" tc class add dev "$device" parent 1:1 classid 1:20 htb rate 1mbit \
    ceil "${rate}mbit" prio 0 $hosts_bucket
  "$@" tc filter add dev "$device" parent 1: protocol ip prio 1 \
    u32 match u16 0 0xff80 at 2 flowid 1:20
  for ((i = 1; i <= hosts_count; ++i)); do
    "$@" tc class add dev "$device" parent 1:1 classid "1:10$i" htb rate 1mbit \
      ceil "${rate}mbit" prio 1 burst 10kb cburst 10kb quantum 10000
    "$@" tc filter add dev "$device" parent 1: protocol ip prio 2 \
      u32 match ip "$side" "$hosts_net.$i" flowid "1:10$i"
  done
}

make_hosts() {
  local nic=$1 uplink=$2 i
  ip netns add "$hosts_prefix-switch"
  in_switch ip link add spine type bridge
  in_switch ip link set spine up
  for ((i = 0; i < hosts_count; ++i)); do
    local host=$hosts_prefix-h$i
    ip netns add "$host"
    in_switch ip link add "leaf$i" type bridge
    in_switch ip link set "leaf$i" up
    in_switch ip link add "up$i" mtu $hosts_mtu type veth peer name "down$i" mtu $hosts_mtu
    in_switch ip link set "up$i" master "leaf$i" up
    in_switch ip link set "down$i" master spine up
    ip link add nic mtu $hosts_mtu netns "$host" type veth \
      peer name "port$i" mtu $hosts_mtu netns "$hosts_prefix-switch"
    in_switch ip link set "port$i" master "leaf$i" up
    ip netns exec "$host" ip address add "$hosts_net.$((i + 1))/24" dev nic
    ip netns exec "$host" ip link set lo up
    ip netns exec "$host" sh -c 'echo 0 >/proc/sys/net/ipv4/tcp_slow_start_after_idle'
    ip netns exec "$host" ip link set nic up
    limit "$nic" nic dst ip netns exec "$host"
    limit "$nic" "port$i" src in_switch
    limit "$uplink" "up$i" dst in_switch
    limit "$uplink" "down$i" src in_switch
  done
  # What mpirun starts daemons with: ADDRESS COMMAND... A host has its own folder for temporary files:
  # daemons that take each other's host for theirs would make the same session folder at once.
  cat >"$hosts_folder/agent" <<AGENT
#!/bin/sh
host=\$((\${1##*.} - 1))
shift
TMPDIR=$hosts_folder/tmp\$host exec ip netns exec $hosts_prefix-h\$host sh -c "\$*"
AGENT
  chmod +x "$hosts_folder/agent"
  for ((i = 0; i < hosts_count; ++i)); do
    mkdir "$hosts_folder/tmp$i"
    echo "$hosts_net.$((i + 1)) slots=1"
  done >"$hosts_folder/hostfile"
}

remove_hosts() {
  local name
  for name in $(ip netns list 2>/dev/null | sed -n "s/^\($hosts_prefix-[a-z0-9]*\).*/\1/p"); do
    ip netns pids "$name" | xargs -r kill -9 2>/dev/null || true
    ip netns del "$name" || true
  done
}

# All-reduces by recursive doubling: its members end together, where the default's root leaves early
# and would wait at the next one.
mpirun_on_hosts() {
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$hosts_folder/tmp0 \
    ip netns exec "$hosts_prefix-h0" mpirun -np "$hosts_count" \
    --hostfile "$hosts_folder/hostfile" --map-by slot --bind-to none \
    --mca mpi_yield_when_idle 1 --mca plm_rsh_agent "$hosts_folder/agent" \
    --mca plm_rsh_no_tree_spawn 1 --mca coll_libnbc_iallreduce_algorithm 4 \
    --mca pml ob1 --mca btl tcp,self --mca btl_tcp_flags 1 --mca btl_tcp_sndbuf 65536 \
    --mca btl_tcp_if_include "$hosts_net.0/24" --mca oob_tcp_if_include "$hosts_net.0/24" \
    "$@" </dev/null
}
