# SPDX-License-Identifier: Apache-2.0
# A network namespace a node, joined by a bridge; loopback addresses where that is not allowed.
# All of it lives in a namespace of its own and ends with it: the host sees nothing.

# Runs the script again where namespaces can be made. Sets `network`.
enter_network() {
  network="${CARAVAN_DEMO_NETWORK:-}"
  if [ -z "$network" ]; then
    local way=(unshare --net --mount)
    # Not mapped to root: tcpdump would try to become another user, which such a namespace refuses.
    [ "$(id -u)" = 0 ] || way+=(--map-current-user --keep-caps)
    if "${way[@]}" bash -c '. tools/demo/network.sh && make_network 1' >/dev/null 2>&1; then
      CARAVAN_DEMO_NETWORK="network namespaces" exec "${way[@]}" tools/demo/demo.sh "$@"
    fi
    network="loopback addresses"
    echo "demo: this machine allows no network namespaces; using 127.0.0.1 to 127.0.0.$NODES"
  fi
  if [ "$network" = "network namespaces" ]; then
    make_network "$NODES"
  fi
}

# make_network COUNT: node0 … with eth0 at 10.77.0.1 …, each on a bridge by its vethN.
make_network() {
  local node
  mount -t tmpfs tmpfs /run
  ip link set lo up
  ip link add name bridge0 type bridge
  ip link set bridge0 up
  for ((node = 0; node < $1; ++node)); do
    ip netns add "node$node"
    ip link add name "veth$node" type veth peer name eth0 netns "node$node"
    ip link set "veth$node" master bridge0 up
    ip -n "node$node" addr add "10.77.0.$((node + 1))/24" dev eth0
    ip -n "node$node" link set eth0 up
    ip -n "node$node" link set lo up
  done
}

# in_node N COMMAND…: replaces the shell that runs it, so that the process can be stopped by its id.
in_node() {
  local node="$1"
  shift
  if [ "$network" = "network namespaces" ]; then
    exec nsenter --net="/run/netns/node$node" "$@"
  else
    exec "$@"
  fi
}

node_ip() {
  if [ "$network" = "network namespaces" ]; then
    echo "10.77.0.$(($1 + 1))"
  else
    echo "127.0.0.$(($1 + 1))"
  fi
}
control_address() { echo "$(node_ip "$1"):27400"; }
data_address() { echo "$(node_ip "$1"):27401"; }

# What node0 and node1 say to each other, into $work/capture. Where nobody may capture packets,
# `capture` stays empty.
start_capture() {
  local link=lo filter="tcp and host 127.0.0.2" tries
  if [ "$network" = "network namespaces" ]; then
    link=veth1
    filter="tcp and host 10.77.0.1 and host 10.77.0.2"
  fi
  # -Z root: where only root exists, tcpdump cannot become another user.
  tcpdump -Z root -i "$link" -s 0 -B 65536 -w "$work/capture" "$filter" 2>"$work/tcpdump.log" &
  capture=$!
  children+=("$capture")
  for ((tries = 0; tries < 100; ++tries)); do
    ! grep -q 'listening on' "$work/tcpdump.log" || return 0
    sleep 0.05
  done
  echo "  no packet capture: $(tail -n 1 "$work/tcpdump.log")"
  capture=
}

stop_capture() {
  [ -n "$capture" ] || return 0
  sleep 0.5
  kill -INT "$capture"
  wait "$capture" || true
}
