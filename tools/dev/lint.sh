# SPDX-License-Identifier: Apache-2.0
# ./dev fmt and ./dev lint.

readonly MAX_LINES=450

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
  tools/dev/rooms.sh --check || broken=1
  [ "$broken" = 0 ] && say "nothing to complain about"
}

complain() {
  printf 'lint: %s\n' "$*" >&2
  broken=1
}
