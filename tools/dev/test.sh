# SPDX-License-Identifier: Apache-2.0
# ./dev test: runs the tests of each configuration and each fuzzer, counts test cases, and says
# where the time went.

. tools/dev/fuzz.sh

readonly TSAN_TARGETS=(
  //base/... //attester/... //client/... //collateral/... //config/... //daemon/... //http/...)
# How long each fuzzer runs: less where the tests took so long that all of it would end after
# END_SECONDS, since a run is to take 40 minutes at most on two cores. --all knows no end.
FUZZ_SECONDS="${CARAVAN_FUZZ_SECONDS:-30}"
ALL_FUZZ_SECONDS="${CARAVAN_FUZZ_SECONDS:-60}"
readonly LEAST_FUZZ_SECONDS=10 END_SECONDS=2280

# Counts of test cases over all configurations.
passed=0 failed=0 skipped=0
# One line a phase: its name, the seconds it took, the seconds that its tests ran, added up.
phases=()

# run_configuration NAME BAZEL-ARGS…: tests one configuration and adds up its cases.
run_configuration() {
  local name="$1" code=0 begun=$SECONDS
  shift
  say "testing: $name"
  # Only what runs real daemons under deadlines gets a second attempt on a busy machine; it is named
  # when it was needed.
  local flags=(--keep_going --test_summary=short --build_tests_only
    --flaky_test_attempts=//tests/integration:.*@2)
  local without=()
  [ "$name" = default ] || { flags+=(--config="$name") && without+=(-no-sanitizer); }
  [ "$all" = yes ] || without+=(-soak "-no-$name")
  flags+=(--test_tag_filters="$(IFS=, && echo "${without[*]}")")
  run_bazel test "${flags[@]}" "$@" >"$scratch/$name.log" 2>&1 || code=$?
  # 4: no test there. 3: tests failed, counted one by one below.
  if [ "$code" != 0 ] && [ "$code" != 3 ] && [ "$code" != 4 ]; then
    cat "$scratch/$name.log"
    printf 'FAILED %s: bazel ended with %d before all tests had run\n' "$name" "$code"
    failed=$((failed + 1))
  elif [ "$code" = 3 ]; then
    cat "$scratch/$name.log"
  fi
  count_configuration "$name" "$scratch/$name.log"
  phases+=("$name $((SECONDS - begun)) $(seconds_of_tests "$scratch/$name.log")")
  say "tested: $name, in $(minutes $((SECONDS - begun)))"
}

minutes() { printf '%d min %d s' $(($1 / 60)) $(($1 % 60)); }

readonly STATUSES="PASSED|FLAKY|FAILED TO BUILD|FAILED|TIMEOUT|NO STATUS|INCOMPLETE|REMOTE FAILURE"

# The summary's lines are "//package:name   [(cached)] STATUS in 1.2s".
count_configuration() {
  local name="$1" logs label path status files p f s
  local summary_line="^(//[^ ]+) +(\\(cached\\) )?($STATUSES).*"
  logs="$(bazel_folder "$name" bazel-testlogs)"
  while read -r label status; do
    path="$logs/$(sed 's|^//||; s|:|/|' <<<"$label")"
    files=("$path"/{,shard_*/}test.xml)
    read -r p f s < <(count_cases "$name" "$label" "${files[@]}")
    case "$status" in
      PASSED | FLAKY)
        [ "$status" = PASSED ] || printf 'FLAKY %s %s: passed at the second attempt\n' "$name" "$label"
        [ $((p + f + s)) -gt 0 ] || p=1
        ;;
      *)
        # Died, timed out or was not built: no file may say so.
        [ "$f" -gt 0 ] || f=1
        # Bazel counts what a test printed among the messages that a log does without.
        tail -qn 80 "$path"/{,shard_*/}test.log 2>/dev/null || true
        printf 'FAILED %s %s: %s\n' "$name" "$label" "$status"
        ;;
    esac
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  done < <(sed -nE "s#$summary_line#\1 \3#p" "$2")
}

# test_times LOG: "SECONDS LABEL" of each test that ran; what the cache answered took no time.
test_times() {
  sed -nE "/ \\(cached\\) /d; s#^(//[^ ]+) +($STATUSES).* in ([0-9.]+)s\$#\3 \1#p" "$1"
}

seconds_of_tests() { test_times "$1" | awk '{ sum += $1 } END { printf "%d", sum }'; }

# Where the time went. Tests run side by side, those marked exclusive apart, so that their own
# seconds may exceed the phase's; the rest of a phase is building.
print_times() {
  local phase name took ran
  printf '%-16s %8s   %s\n' phase minutes "minutes of its tests, added up"
  for phase in "${phases[@]}"; do
    read -r name took ran <<<"$phase"
    awk -v name="$name" -v took="$took" -v ran="$ran" 'BEGIN {
      printf "%-16s %8.1f", name, took / 60
      if (ran != "") printf "   %.1f", ran / 60
      print "" }'
  done
  for name in default asan tsan; do
    [ -f "$scratch/$name.log" ] || continue
    test_times "$scratch/$name.log" | sort -rn | head -n 5 |
      awk -v name="$name" '{ printf "slowest, %s: %6.1f s %s\n", name, $1, $2 }'
  done
}

# count_cases CONFIGURATION LABEL FILE…: prints "passed failed skipped"; names failed and skipped
# cases on stderr and, for those that skipped for want of vectors, in $scratch/vectors.
count_cases() {
  local name="$1" label="$2" file
  shift 2
  for file in "$@"; do
    [ ! -f "$file" ] || cat "$file"
  done | awk -v where="$name $label" -v vectors="$scratch/vectors" '
    # What a test printed is no markup: drop each CDATA section.
    { text = text $0 "\n" }
    END {
      parts = split(text, part, "<!\\[CDATA\\[")
      clean = part[1]
      for (i = 2; i <= parts; ++i) clean = clean substr(part[i], index(part[i], "]]>") + 3)
      cases = split(clean, test, "<testcase ")
      for (i = 2; i <= cases; ++i) {
        title = test[i]
        sub(/^name="/, "", title)
        sub(/".*/, "", title)
        if (test[i] ~ /<(failure|error)/) {
          ++failed
          print "FAILED " where " " title > "/dev/stderr"
        } else if (test[i] ~ /<skipped|result="skipped"|status="notrun"/) {
          ++skipped
          print "skipped " where " " title > "/dev/stderr"
          if (tolower(test[i]) ~ /vector/) print where " " title >> vectors
        } else {
          ++passed
        }
      }
      print passed + 0, failed + 0, skipped + 0
    }'
}

run_tests() {
  all=no
  case "${1:-}" in
    "") ;;
    --all) all=yes FUZZ_SECONDS="$ALL_FUZZ_SECONDS" ;;
    *) die "./dev test takes --all or nothing, not \"$1\"" ;;
  esac
  scratch="$(mktemp -d)"
  trap 'rm -rf "$scratch"' EXIT
  : >"$scratch/vectors"
  local started=$SECONDS
  build_programs
  run_configuration default //...
  run_configuration asan //...
  run_configuration tsan "${TSAN_TARGETS[@]}"
  run_fuzzers_for_test "$started"
  if [ -n "$(vectors_folder)" ] && [ -s "$scratch/vectors" ]; then
    sed 's/^/FAILED (vectors exist, yet the test skipped) /' "$scratch/vectors"
    failed=$((failed + $(wc -l <"$scratch/vectors")))
    skipped=$((skipped - $(wc -l <"$scratch/vectors")))
  fi
  print_times
  say "took $(minutes $((SECONDS - started)))"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" = 0 ]
}

# What no test needs must build all the same. (Building //... would compile each library twice.)
build_programs() {
  local begun=$SECONDS
  say "building the programs"
  # shellcheck disable=SC2046
  if ! run_bazel build $(demo_targets) //bench:compare //bench/aead:aead_perf >"$scratch/programs.log" 2>&1; then
    cat "$scratch/programs.log"
    echo "FAILED build: the programs do not build"
    failed=$((failed + 1))
  fi
  phases+=("programs $((SECONDS - begun))")
}

# fuzz_seconds ELAPSED FUZZERS: how long each fuzzer runs.
fuzz_seconds() {
  [ "$all" = no ] || { echo "$FUZZ_SECONDS" && return; }
  local seconds=$(((END_SECONDS - $1) * $(nproc) / $2))
  [ "$seconds" -ge "$LEAST_FUZZ_SECONDS" ] || seconds="$LEAST_FUZZ_SECONDS"
  [ "$seconds" -le "$FUZZ_SECONDS" ] || seconds="$FUZZ_SECONDS"
  echo "$seconds"
}

# run_fuzzers_for_test STARTED: each fuzzer counts as one case.
run_fuzzers_for_test() {
  local begun=$SECONDS
  if ! build_fuzzers >"$scratch/fuzz.log" 2>&1; then
    cat "$scratch/fuzz.log"
    echo "FAILED fuzz: the fuzzers do not build"
    failed=$((failed + 1))
    return 0
  fi
  phases+=("fuzzers'-build $((SECONDS - begun))")
  local name seconds
  begun=$SECONDS
  seconds="$(fuzz_seconds $((SECONDS - $1)) "$(fuzzer_names | wc -l)")"
  say "fuzzing, $seconds s each"
  fuzz_all "$seconds" "$scratch" $(fuzzer_names)
  phases+=("fuzzers $((SECONDS - begun))")
  for name in $(fuzzer_names); do
    if [ -f "$scratch/$name.passed" ]; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      tail -n 40 "$scratch/$name.out"
      echo "FAILED fuzz $name: $(grep -m1 -E 'broken promise|ERROR: |runtime error' "$scratch/$name.out")"
    fi
  done
}
