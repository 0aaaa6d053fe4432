# SPDX-License-Identifier: Apache-2.0
# ./dev fmt and ./dev lint.

readonly MAX_LINES=450

# Files outside base/ that still call close() themselves, tests apart. The list only shrinks.
readonly CLOSES='
bench/cluster/cluster.cc bench/compare.cc bench/peers/tls_socket.cc
cli/evidence/collect.cc cli/insecure_root.cc daemon/engine/group.cc
daemon/engine/group_state.cc daemon/engine/lane.cc daemon/engine/reactor.cc
daemon/engine/shared_memory.cc daemon/local/applications.cc daemon/local/fd_server.cc
daemon/local/memory_server.cc daemon/service/communicator_manager.cc
daemon/service/peer_bridge.cc daemon/transport/data_connection.cc
'
# Files outside base/ that define a class Descriptor: none.
readonly DESCRIPTORS=''

sources() { git ls-files --cached --others --exclude-standard -- '*.h' '*.cc' | existing; }
scripts() { { echo dev; git ls-files --cached --others --exclude-standard -- '*.sh' .ci/run; } | existing; }
existing() {
  local file
  while read -r file; do
    [ ! -f "$file" ] || echo "$file"
  done
}

format_sources() {
  sources | xargs -r clang-format-14 -i
}

lint_sources() {
  local broken=0 file found
  while read -r file; do
    clang-format-14 --dry-run --Werror "$file" >/dev/null 2>&1 ||
      complain "$file: not formatted; ./dev fmt mends it"
  done < <(sources)
  while read -r file; do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
      complain "$file: wants an SPDX line on top"
    [ "$(wc -l <"$file")" -le "$MAX_LINES" ] ||
      complain "$file: over $MAX_LINES lines; does it hold one idea?"
  done < <(sources; scripts; git ls-files -- '*.proto')
  while read -r file; do
    bash -n "$file" || complain "$file: not a valid script"
  done < <(scripts)
  while read -r found; do
    git grep -qE "^(TYPED_)?TEST(_F|_P)?\\(${found%.*}, ${found#*.}\\)" -- '*_test.cc' ||
      complain "docs/promises.md names $found, which is no test"
  done < <(grep -oE '`[A-Z][A-Za-z]+\.[A-Z][A-Za-z0-9]+`' docs/promises.md | tr -d '`')
  found="$(git grep -nIE '\b(TO''DO|FIX''ME|XX''X)\b' -- '*.h' '*.cc' '*.sh' '*.proto' '*.bzl' dev |
    head -20)" || true
  [ -z "$found" ] || complain "left open: $found"
  found="$(git grep -lI 'PRIVATE ''KEY-----' || true)"
  [ -z "$found" ] || complain "private keys in the tree: $found"
  lint_text
  tools/dev/rooms.sh --check || broken=1
  [ "$broken" = 0 ] && say "nothing to complain about"
}

complain() {
  printf 'lint: %s\n' "$*" >&2
  broken=1
}

# What is read line by line; each names the place.
lint_text() {
  local found closing defining
  closing="$(closers)" defining="$(descriptor_classes)"
  while read -r found; do
    complain "$found: a comment is a whole sentence, and does not begin so"
  done < <(half_sentences)
  for found in $closing; do
    listed "$found" "$CLOSES" || complain "$found: closes a descriptor by hand; base/ has a class for it"
  done
  for found in $CLOSES; do
    listed "$found" "$closing" || complain "CLOSES names $found, which closes nothing by hand"
  done
  for found in $defining; do
    listed "$found" "$DESCRIPTORS" || complain "$found: defines a class Descriptor; base/ has one"
  done
  for found in $DESCRIPTORS; do
    listed "$found" "$defining" || complain "DESCRIPTORS names $found, which defines none"
  done
}

# listed NAME LIST
listed() {
  local name
  for name in $2; do
    [ "$name" != "$1" ] || return 0
  done
  return 1
}

others() {
  git ls-files --cached --others --exclude-standard -- \
    '*.proto' '*.bzl' '*BUILD' .bazelrc WORKSPACE | existing
}

# "FILE:LINE" of each comment that begins as no sentence does.
half_sentences() {
  { sources; scripts; others; } |
    xargs -r awk '
      FNR == 1 { inside = 0 }
      {
        alone = ($0 ~ /^[ \t]*(\/\/|#)/)
        if (alone) begins = !inside && $0 ~ /^[ \t]*(\/\/+|#+) *(Of|The same)([^A-Za-z]|$)/
        else begins = $0 ~ /[;{},)] +(\/\/|#) *(Of|The same) /
        if (begins) print FILENAME ":" FNR
        inside = alone
      }'
}

# Production files that call close() outside base/.
closers() {
  sources | grep -vE '^(tests|base)/|(^|/)(test_|fake_)[^/]*$|_(test|testing)\.(h|cc)$' |
    xargs -r grep -lE '^([^/]|/[^/])*(^|[^A-Za-z0-9_.>])close\(' || true
}

descriptor_classes() {
  sources | grep -v '^base/' | xargs -r grep -lE '^ *class Descriptor\b[^;]*$' || true
}
