# SPDX-License-Identifier: Apache-2.0
# ./dev fuzz: libFuzzer over every parser and frame (tests/fuzz).

build_fuzzers() {
  run_bazel build --config=fuzz --build_tests_only //tests/fuzz/...
}

# Names, from the BUILD file's fuzz_test rules.
fuzzer_names() {
  awk '/^fuzz_test\(/ { inside = 1 }
       inside && /name = / { gsub(/[",]/, "", $3); print $3; inside = 0 }' tests/fuzz/BUILD
}

# fuzz_one NAME SECONDS FOLDER CORPUS: leaves FOLDER/NAME.out and, on success, FOLDER/NAME.passed.
# What breaks it is kept in CORPUS-crashes.
fuzz_one() {
  local name="$1" seconds="$2" folder="$3" corpus="$4" seeds=() code=0
  mkdir -p "$corpus" "$corpus-crashes"
  [ ! -d "tests/fuzz/seeds/$name" ] || seeds=("tests/fuzz/seeds/$name")
  timeout $((seconds + 120)) "$fuzz_bin/tests/fuzz/$name" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=2048 -artifact_prefix="$corpus-crashes/" -print_final_stats=1 \
    "$corpus" "${seeds[@]}" >"$folder/$name.out" 2>&1 || code=$?
  if [ "$code" = 0 ]; then
    touch "$folder/$name.passed"
  fi
}

# fuzz_all SECONDS FOLDER NAME…: as many at a time as there are cores.
fuzz_all() {
  local seconds="$1" folder="$2" name
  shift 2
  fuzz_bin="$(bazel_folder fuzz bazel-bin)"
  for name in "$@"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
      wait -n || true
    done
    fuzz_one "$name" "$seconds" "$folder" "${fuzz_corpora:-$folder/corpora}/$name" &
  done
  wait
}

run_fuzz() {
  local minutes="" names=()
  while [ $# -gt 0 ]; do
    case "$1" in
      --minutes) minutes="${2:-}" && shift 2 || die "--minutes wants a number" ;;
      -*) die "./dev fuzz takes --minutes N and names of fuzzers, not \"$1\"" ;;
      *) names+=("$1") && shift ;;
    esac
  done
  [[ "$minutes" =~ ^[1-9][0-9]*$ ]] || die "./dev fuzz --minutes N [NAME…]: fuzzers are" \
    "$(fuzzer_names | paste -sd' ')"
  [ ${#names[@]} -gt 0 ] || mapfile -t names < <(fuzzer_names)
  build_fuzzers
  local broken=0 name
  # Not local: the trap runs when this function is gone.
  folder="$(mktemp -d)"
  trap 'rm -rf "$folder"' EXIT
  fuzz_corpora="$CACHE/fuzz"
  say "fuzzing ${names[*]} for $minutes min each; corpora in $fuzz_corpora"
  fuzz_all $((minutes * 60)) "$folder" "${names[@]}"
  for name in "${names[@]}"; do
    if [ -f "$folder/$name.passed" ]; then
      printf '%-28s ok, %s inputs\n' "$name" \
        "$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$name.out")"
    else
      broken=1
      tail -n 60 "$folder/$name.out"
      printf '%-28s BROKEN: %s\n' "$name" "$fuzz_corpora/$name-crashes"
    fi
  done
  return "$broken"
}
