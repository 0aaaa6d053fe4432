// SPDX-License-Identifier: Apache-2.0
#include "cli/fake_admin.h"

#include <grpcpp/grpcpp.h>
#include <stdlib.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "proto/caravan/v1/admin.grpc.pb.h"

namespace caravan::cli {
namespace {

class Impl : public FakeAdmin, public v1::Admin::Service {
 public:
  Impl() {
    // TEST_TMPDIR is longer than a socket's path may be.
    char folder[] = "/tmp/caravan-admin-XXXXXX";
    EXPECT_NE(mkdtemp(folder), nullptr);
    dir_ = folder;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + dir_ + "/admin.sock", grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Impl() override {
    server_->Shutdown(std::chrono::system_clock::now());
    unlink((dir_ + "/admin.sock").c_str());
    rmdir(dir_.c_str());
  }

  const std::string& runtime_dir() const override { return dir_; }

  grpc::Status GetStatus(grpc::ServerContext* context, const v1::GetStatusRequest*,
                         v1::GetStatusReply* reply) override {
    *reply = status;
    return Answer(context);
  }

  grpc::Status ListSessions(grpc::ServerContext* context, const v1::ListSessionsRequest*,
                            v1::ListSessionsReply* reply) override {
    *reply->mutable_sessions() = status.sessions();
    reply->set_now_unix_ms(status.now_unix_ms());
    return Answer(context);
  }

  grpc::Status CloseSession(grpc::ServerContext* context, const v1::CloseSessionRequest* request,
                            v1::CloseSessionReply*) override {
    closed.push_back(request->id());
    return Answer(context);
  }

 private:
  grpc::Status Answer(grpc::ServerContext* context) {
    while (!answers && !context->IsCancelled()) usleep(1000);
    return {static_cast<grpc::StatusCode>(error.code()), std::string(error.message())};
  }

  std::string dir_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

std::unique_ptr<FakeAdmin> FakeAdmin::Start() { return std::make_unique<Impl>(); }

}  // namespace caravan::cli
