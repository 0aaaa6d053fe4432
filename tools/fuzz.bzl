"""fuzz_test: one fuzzer as a test.

With --config=fuzz it links libFuzzer (./dev fuzz runs it); elsewhere a main that replays the seeds,
each whole, cut short and with bytes changed, so that a plain build runs every parser too. The asan
configuration leaves that to the fuzzers themselves, which it builds.
"""

def fuzz_test(name, srcs, deps, seeds = []):
    native.cc_test(
        name = name,
        size = "small",
        srcs = srcs,
        args = ["$(rootpath %s)" % seed for seed in seeds],
        data = seeds,
        tags = ["no-asan"],
        linkopts = select({
            "//tests/fuzz:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        deps = deps + select({
            "//tests/fuzz:libfuzzer": ["//tests/fuzz:mutator"],
            "//conditions:default": ["//tests/fuzz:replay"],
        }),
    )
