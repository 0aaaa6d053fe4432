#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Plants each fault that tools/dev/lint.sh looks for line by line, and sees it found.
set -euo pipefail
. tools/dev/common.sh
. tools/dev/lint.sh

tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
cd "$tree"
git init -q .
touch dev

# What is said of the tree, in which no exception is needed.
complaints() { lint_text 2>&1 | grep -vE 'lint: [A-Z]+ names ' || true; }

# expect WHAT COMPLAINT: COMPLAINT begins what is said; empty, nothing is.
expect() {
  local said
  said="$(complaints)"
  [[ -n "$2" || -z "$said" ]] && [[ "$said" == "lint: $2"* || -z "$2" ]] && return 0
  echo "$1: got \"$said\", want \"$2\""
  exit 1
}

# plant FILE LINE…
plant() {
  mkdir -p "$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$1"
}

plant cli/a.cc '// What it takes is bytes.' '// Of these it keeps none.' 'int x;  // offset' \
  'reader.close();' '// Calls close(fd) when it goes.' 'int enclose(int);' 'class Descriptor;'
plant base/descriptor.h 'class Descriptor {' '  ~Descriptor() { close(fd_); }' '};'
expect "a clean tree" ""

for fault in '// Of bytes.' '  // The same for records.' '/// Of bytes.' 'int x;  /''/ Of bytes.'; do
  plant cli/b.h 'int y;' "$fault"
  expect "$fault" "cli/b.h:2: a comment is a whole sentence"
done
rm cli/b.h
plant cli/BUILD '# The same with more bytes.'
expect "a BUILD file's comment" "cli/BUILD:1: a comment is a whole sentence"
rm cli/BUILD

for fault in '  close(fd);' '  if (fd >= 0) ::close(fd);' 'return close(fd) == 0;  // always'; do
  plant cli/c.cc "$fault"
  expect "$fault" "cli/c.cc: closes a descriptor by hand"
done
rm cli/c.cc
plant cli/c_test.cc '  close(fd);'
expect "a test that closes" ""

for fault in 'class Descriptor {' 'class Descriptor final : public Closed {'; do
  plant cli/d.h "$fault"
  expect "$fault" "cli/d.h: defines a class Descriptor"
done
rm cli/d.h

[[ "$(lint_text 2>&1)" == *"CLOSES names cli/insecure_root.cc, which closes nothing"* ]] || {
  echo "an exception that is not needed goes unnoticed"
  exit 1
}
echo "each fault is found"
