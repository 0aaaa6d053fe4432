#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Holds the counting of ./dev test to what Bazel and GoogleTest write.
set -euo pipefail
. tools/dev/common.sh
. tools/dev/test.sh

work="$TEST_TMPDIR"
scratch="$work"
all=no

expect() {
  [ "$2" = "$3" ] && return 0
  echo "$1: got \"$2\", want \"$3\""
  exit 1
}

cat >"$work/gtest.xml" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" disabled="0" errors="0" time="0." name="AllTests">
  <testsuite name="A" tests="4" failures="1" disabled="0" skipped="1" errors="0">
    <testcase name="Passes" status="run" result="completed" time="0." classname="A" />
    <testcase name="Fails" status="run" result="completed" time="0." classname="A">
      <failure message="a &lt;testcase " type=""><![CDATA[<testcase name="NotReal"> <failure>]]></failure>
    </testcase>
    <testcase name="Skips" status="run" result="skipped" time="0." classname="A">
      <skipped message="test vectors are not here"><![CDATA[test vectors are not here]]></skipped>
    </testcase>
    <testcase name="AlsoPasses" status="run" result="completed" time="0." classname="A" />
  </testsuite>
</testsuites>
XML
cat >"$work/script.xml" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="x" tests="1" failures="0" errors="0">
    <testcase name="x" status="run" duration="1" time="1"></testcase>
      <system-out><![CDATA[prints <testcase name="y"><error> and <skipped]]></system-out>
    </testsuite>
</testsuites>
XML
expect "a GoogleTest file" "$(count_cases c //a:t "$work/gtest.xml" 2>/dev/null)" "2 1 1"
expect "a skipped vector test is noted" "$(cat "$work/vectors")" "c //a:t Skips"
expect "a script's file" "$(count_cases c //a:s "$work/script.xml" 2>/dev/null)" "1 0 0"
expect "no file" "$(count_cases c //a:n "$work/absent.xml" 2>/dev/null)" "0 0 0"

# Whole configurations: the summary decides where no file does.
bazel_folder() { echo "$work/logs"; }
mkdir -p "$work/logs/a/t" "$work/logs/a/sharded/shard_1_of_2" "$work/logs/a/sharded/shard_2_of_2"
cp "$work/script.xml" "$work/logs/a/t/test.xml"
cp "$work/script.xml" "$work/logs/a/sharded/shard_1_of_2/test.xml"
cp "$work/script.xml" "$work/logs/a/sharded/shard_2_of_2/test.xml"
cat >"$work/log" <<'LOG'
//a:t                                         (cached) PASSED in 0.2s
//a:sharded                                            PASSED in 0.2s
//a:quiet                                              PASSED in 0.2s
//a:crashed                                            FAILED in 0.2s
//a:slow                                              TIMEOUT in 300.0s
//a:broken                                    FAILED TO BUILD
//a:unreached                                       NO STATUS
Executed 3 out of 7 tests: 3 tests pass.
LOG
count_configuration c "$work/log" >/dev/null
expect "a configuration" "$passed $failed $skipped" "4 4 0"

expect "seconds of what ran" "$(test_times "$work/log" | paste -sd' ')" \
  "0.2 //a:sharded 0.2 //a:quiet 0.2 //a:crashed 300.0 //a:slow"
phases=("programs 90" "default 600 $(seconds_of_tests "$work/log")")
cp "$work/log" "$work/default.log"
expect "the table of times" "$(print_times | head -n 4)" "\
phase             minutes   minutes of its tests, added up
programs              1.5
default              10.0   5.0
slowest, default:  300.0 s //a:slow"

FUZZ_SECONDS=60
expect "fuzzing with time left" "$(fuzz_seconds 0 26)" 60
expect "fuzzing with none left" "$(fuzz_seconds 5000 26)" 10
all=yes
expect "fuzzing with --all" "$(fuzz_seconds 5000 26)" 60
all=no
FUZZ_SECONDS=3
expect "fuzzing as briefly as asked" "$(fuzz_seconds 5000 26)" 3

echo "counting is right"
