# SPDX-License-Identifier: Apache-2.0
# The demo's daemons: their root, policy and configuration; start and stop.

declare -a daemon_pid=()

runtime_dir() { echo "$work/node$1"; }

# The cluster's own chains of attestation keys. Keeps the lines by which policies pin them.
make_root() {
  root_pin="$("$CARAVANCTL" insecure-root create "$work/root")"
}

# write_policy DAEMON FILE: trusts this executable, on any machine, under this root.
write_policy() {
  cat >"$work/$2" <<TEXT
name: "demo"
allow_insecure: true  # a trial on machines without TEEs
$root_pin
snp {
  measurements { name: "caravand" sha384: "$(sha384sum "$1" | cut -d' ' -f1)" }
  any_platform: true
  any_tcb: true
}
TEXT
}

# start_node N DAEMON POLICY
start_node() {
  local node="$1" daemon="$2" policy="$3"
  mkdir -p "$(runtime_dir "$node")"
  rm -f "$(runtime_dir "$node")/ready"
  cat >"$work/node$node.textproto" <<TEXT
node_name: "node$node"
control_address: "$(control_address "$node")"
data_address: "$(data_address "$node")"
runtime_dir: "$(runtime_dir "$node")"
attester { insecure_software { root_directory: "$work/root" } }
policy_file: "$work/$policy"
TEXT
  in_node "$node" "$daemon" --config "$work/node$node.textproto" \
    --ready-file "$(runtime_dir "$node")/ready" >>"$work/node$node.log" 2>&1 &
  daemon_pid[node]=$!
  children+=($!)
}

wait_until_ready() {
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    [ ! -f "$(runtime_dir "$1")/ready" ] || return 0
    kill -0 "${daemon_pid[$1]}" 2>/dev/null || break
    sleep 0.1
  done
  echo "demo: node$1 did not start:" >&2
  tail -n 5 "$work/node$1.log" >&2
  exit 1
}

# start_nodes DAEMON POLICY
start_nodes() {
  local node
  for ((node = 0; node < NODES; ++node)); do start_node "$node" "$1" "$2"; done
  for ((node = 0; node < NODES; ++node)); do wait_until_ready "$node"; done
}

stop_node() {
  kill "${daemon_pid[$1]}" 2>/dev/null || true
  wait "${daemon_pid[$1]}" 2>/dev/null || true
}

stop_nodes() {
  local node
  for ((node = 0; node < NODES; ++node)); do stop_node "$node"; done
}
