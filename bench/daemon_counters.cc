// SPDX-License-Identifier: Apache-2.0
#include "bench/daemon_counters.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "proto/caravan/v1/admin.grpc.pb.h"

namespace caravan::bench {
namespace {

class GrpcDaemonCounters : public DaemonCounters {
 public:
  GrpcDaemonCounters(const std::string& runtime_dir, const std::string& communicator)
      : communicator_(communicator),
        stub_(v1::Admin::NewStub(grpc::CreateChannel("unix:" + runtime_dir + "/admin.sock",
                                                     grpc::InsecureChannelCredentials()))) {}

  absl::StatusOr<CryptoBytes> Read() override {
    const absl::StatusOr<v1::CommunicatorInfo> info = Ask();
    if (!info.ok()) return info.status();
    return CryptoBytes{info->sealed_bytes(), info->opened_bytes()};
  }
  absl::StatusOr<std::string> Suite() override {
    const absl::StatusOr<v1::CommunicatorInfo> info = Ask();
    if (!info.ok()) return info.status();
    return info->suite();
  }
  absl::StatusOr<collective::SelectorTable> Table() override {
    const absl::StatusOr<v1::CommunicatorInfo> info = Ask();
    if (!info.ok()) return info.status();
    return collective::ParseSelectorTable(info->selector_table());
  }

 private:
  absl::StatusOr<v1::CommunicatorInfo> Ask() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    v1::GetStatusReply reply;
    const grpc::Status status = stub_->GetStatus(&context, {}, &reply);
    if (!status.ok()) {
      return absl::UnavailableError(absl::StrCat("daemon status: ", status.error_message()));
    }
    for (const v1::CommunicatorInfo& info : reply.communicators()) {
      if (info.name() == communicator_) return info;
    }
    return absl::NotFoundError(absl::StrCat("the daemon has no communicator ", communicator_));
  }

  const std::string communicator_;
  const std::unique_ptr<v1::Admin::Stub> stub_;
};

}  // namespace

std::unique_ptr<DaemonCounters> DaemonCounters::Connect(const std::string& runtime_dir,
                                                        const std::string& communicator) {
  return std::make_unique<GrpcDaemonCounters>(runtime_dir, communicator);
}

}  // namespace caravan::bench
