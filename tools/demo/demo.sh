#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ./dev demo: four nodes attest each other and train a model over encrypted links; a packet capture
# is searched for the tensors; a tampered daemon is refused. Leaves nothing behind.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

readonly NODES=4 STEPS=600
readonly BIN="${CARAVAN_DEMO_BIN:-$PWD/bazel-bin}"
readonly CARAVANCTL="$BIN/cli/caravanctl" DDP_TEXT="$BIN/examples/ddp_text/ddp_text"
readonly SECURE="$BIN/daemon/caravand" PLAINTEXT="$BIN/bench/plaintext/caravand_plaintext"

# shellcheck source=tools/demo/network.sh
. tools/demo/network.sh
# shellcheck source=tools/demo/nodes.sh
. tools/demo/nodes.sh

enter_network "$@"  # may run this script again, inside namespaces of its own

work="$(mktemp -d /tmp/caravan-demo.XXXXXX)"
children=()
clean_up() {
  trap - EXIT INT TERM
  local child
  for child in "${children[@]}"; do kill "$child" 2>/dev/null || true; done
  for child in "${children[@]}"; do wait "$child" 2>/dev/null || true; done
  rm -rf "$work"
}
trap clean_up EXIT
trap 'echo; echo "demo: interrupted"; exit 130' INT TERM

chapter=0
chapter() { printf '\n\033[1m%d. %s\033[0m\n' $((++chapter)) "$*"; }
show() { sed 's/^/  /'; }
failures=()
verdict() {  # verdict ok|bad TEXT
  if [ "$1" = ok ]; then
    printf '  \033[32m✓\033[0m %s\n' "$2"
  else
    printf '  \033[31m✗ %s\033[0m\n' "$2"
    failures+=("$2")
  fi
}

# train NODES STEPS LABEL: one rank a node; rank 0's progress on screen.
train() {
  local nodes="$1" steps="$2" label="$3" rank ranks=() ok=0
  for ((rank = nodes - 1; rank >= 0; --rank)); do
    in_node "$rank" "$DDP_TEXT" --rank "$rank" --ranks "$nodes" --root "$(control_address 0)" \
      --runtime-dir "$(runtime_dir "$rank")" --steps "$steps" --name "$label" \
      --weights "$work/weights$rank" --canary "$work/canary$rank" 2>"$work/train$rank.log" &
    ranks+=($!)
    children+=($!)
  done
  for rank in "${ranks[@]}"; do wait "$rank" || ok=1; done
  cat "$work"/train*.log >&2
  return "$ok"
}

# Keeps node1's status, once its communicator has worked for a moment.
watch_status() {
  local tries
  for ((tries = 0; tries < 100; ++tries)); do
    sleep 0.3
    "$CARAVANCTL" --runtime-dir "$(runtime_dir 1)" status >"$work/status" 2>&1 || true
    if grep -q ddp-text "$work/status"; then return 0; fi
  done
}

# How many of the tensor pieces of ranks 0 and 1 stand in the capture: "found 0 of …".
search_capture() {
  cat "$work/canary0" "$work/canary1" >"$work/canary"
  "$DDP_TEXT" --search "$work/canary" "$work/capture"
}

started=$SECONDS
printf 'Caravan: %d nodes (%s), on this machine, without TEE hardware.\n' "$NODES" "$network"
echo "A software stand-in signs attestation reports in AMD SEV-SNP's format; the verifier is the"
echo "one that checks real ones. It proves nothing about the machine, and says \"insecure\"."

chapter "Four daemons start; a policy names the one program that is trusted"
make_root
write_policy "$SECURE" policy
start_nodes "$SECURE" policy
echo "  policy.textproto:"
show <"$work/policy" | show
verdict ok "$NODES daemons listen; none has a key of another yet"

chapter "They attest each other and train a character model together"
echo "  text: /usr/share/common-licenses; each step averages the gradients of all $NODES nodes"
start_capture
watch_status &
children+=($!)
status_job=$!
if train "$NODES" "$STEPS" ddp-text; then
  verdict ok "trained, $STEPS steps on $NODES nodes"
else
  verdict bad "training failed"
fi
stop_capture
wait "$status_job" || true
echo
echo "  meanwhile, \`caravanctl status\` on node1:"
show <"$work/status" | show

chapter "The result is right: the same training in one process"
"$DDP_TEXT" --single --ranks "$NODES" --steps "$STEPS" --weights "$work/single" >/dev/null
if "$DDP_TEXT" --compare "$work/single" "$work/weights0" >"$work/compare" 2>&1; then
  verdict ok "equal within rounding: $(cat "$work/compare")"
else
  verdict bad "weights differ: $(cat "$work/compare")"
fi
for ((node = 1; node < NODES; ++node)); do
  cmp -s "$work/weights0" "$work/weights$node" || verdict bad "node$node has other weights"
done

chapter "The wire shows nothing: packets between node0 and node1"
if [ -z "$capture" ]; then
  echo "  not shown: this user may not capture packets here; try as root"
elif found="$(search_capture)" && [[ "$found" == "found 0 of "* ]]; then
  verdict ok "$found"
else
  verdict bad "tensor bytes in the capture: ${found:-the search failed}"
fi
stop_nodes
write_policy "$PLAINTEXT" policy-plaintext
start_nodes "$PLAINTEXT" policy-plaintext
start_capture
train "$NODES" 20 plaintext >/dev/null || verdict bad "training on the plaintext engine failed"
stop_capture
stop_nodes
if [ -z "$capture" ]; then
  echo "  not shown either: the same search over the plaintext engine"
elif found="$(search_capture)" && [[ "$found" != "found 0 of "* ]]; then
  verdict ok "the search works: with the bench's plaintext engine it $found"
else
  verdict bad "the search misses tensors that are in clear: ${found:-it failed}"
fi

chapter "A daemon that differs by one byte is refused"
start_nodes "$SECURE" policy
stop_node 3
{ cat "$SECURE" && printf x; } >"$work/caravand-changed"
chmod +x "$work/caravand-changed"
start_node 3 "$work/caravand-changed" policy
wait_until_ready 3
if (in_node 3 timeout 30 "$DDP_TEXT" --rank 1 --ranks 2 --root "$(control_address 0)" \
    --runtime-dir "$(runtime_dir 3)" --steps 1 --name intruder) >"$work/intruder" 2>&1; then
  verdict bad "the changed daemon was let in"
elif grep -qi 'measurement' "$work/intruder"; then
  verdict ok "node3 with one more byte was refused; its application is told:"
  fold -s -w 92 "$work/intruder" | show | show
else
  verdict bad "refused, but not for its measurement: $(cat "$work/intruder")"
fi
"$CARAVANCTL" --runtime-dir "$(runtime_dir 0)" status >"$work/status" 2>&1 || true
echo "  and on node0, \`caravanctl status\` says:"
grep -m 1 SNP_MEASUREMENT "$work/status" | fold -s -w 92 | show | show

printf '\n\033[1mIn short\033[0m\n'
cat <<TEXT
  Four daemons proved to each other which program they run, agreed keys bound to that proof, and
  averaged a real training job's gradients ${STEPS} times over links that show only ciphertext. The model
  is the one that a single process trains. A daemon changed by one byte got no key and no data.
  Took $((SECONDS - started)) s. Next: README.md, docs/threat-model.md, examples/ddp_text/.
TEXT
if [ ${#failures[@]} -gt 0 ]; then
  printf '  NOT as promised: %s\n' "${failures[@]}"
  exit 1
fi
