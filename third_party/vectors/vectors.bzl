"""@vectors: a folder of real evidence and test vectors, read in place.

The environment variable CARAVAN_VECTORS names the folder; empty or unset gives an empty
repository, and the tests that want vectors skip and say so.
"""

def _impl(ctx):
    path = ctx.os.environ.get("CARAVAN_VECTORS", "")
    if path:
        ctx.symlink(path, "v")
    ctx.file("BUILD", """
filegroup(
    name = "all",
    srcs = glob(["v/**"], allow_empty = True),
    visibility = ["//visibility:public"],
)
""")

vectors_repository = repository_rule(
    implementation = _impl,
    environ = ["CARAVAN_VECTORS"],
    local = True,
)
