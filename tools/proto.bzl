"""cc_proto: C++ from .proto with the system's protoc; `services = True` adds gRPC stubs."""

def cc_proto(name, src, deps = [], services = False, visibility = ["//visibility:public"]):
    base = src[:-len(".proto")]
    outs = [base + ".pb.h", base + ".pb.cc"]
    grpc = "--grpc_out=$(GENDIR) --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin " if services else ""
    native.genrule(
        name = name + "_gen",
        srcs = [src] + [d + "_src" for d in deps],
        outs = outs + ([base + ".grpc.pb.h", base + ".grpc.pb.cc"] if services else []),
        cmd = "/usr/bin/protoc -I . --cpp_out=$(GENDIR) " + grpc + "$(location " + src + ")",
    )
    native.filegroup(
        name = name + "_src",
        srcs = [src] + [d + "_src" for d in deps],
        visibility = visibility,
    )
    native.cc_library(
        name = name,
        srcs = [base + ".pb.cc"],
        hdrs = [base + ".pb.h"],
        copts = ["-Wno-unused-parameter"],
        visibility = visibility,
        deps = deps + ["@system//:protobuf"],
    )
    if services:
        native.cc_library(
            name = name + "_grpc",
            srcs = [base + ".grpc.pb.cc"],
            hdrs = [base + ".grpc.pb.h"],
            copts = ["-Wno-unused-parameter"],
            visibility = visibility,
            deps = [":" + name, "@system//:grpc"],
        )
