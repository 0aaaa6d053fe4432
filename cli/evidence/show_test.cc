// SPDX-License-Identifier: Apache-2.0
#include "cli/evidence/show.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "attester/fake_tsm_tree.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simdjson.h"

namespace caravan::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Show : public testing::Test {
 protected:
  Show() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~Show() override { std::filesystem::remove_all(folder_); }

  int Run(const std::string& bytes, const std::string& kind = "auto", bool json = false) {
    const std::string path = folder_ + "/evidence";
    std::ofstream(path, std::ios::binary) << bytes;
    out_.str("");
    err_.str("");
    Context context{out_, err_};
    context.json = json;
    return RunEvidenceShow(context, {path, kind});
  }
  std::string At(const std::string& pointer) {
    simdjson::dom::element value;
    const auto error = parser_.parse(out_.str()).at_pointer(pointer).get(value);
    return error ? std::string("none: ") + simdjson::error_message(error) : simdjson::minify(value);
  }

  std::string folder_ = testing::TempDir() + "/show-XXXXXX";
  std::ostringstream out_, err_;
  simdjson::dom::parser parser_;
};

std::string Report() { return attester::MakeSnpReport(std::string(64, '\xAB')); }

TEST_F(Show, SaysFirstThatNothingIsVerified) {
  EXPECT_EQ(Run(Report()), kOk);
  EXPECT_THAT(out_.str(), StartsWith("not verified  sev-snp  1184 bytes"));
  EXPECT_THAT(out_.str(), HasSubstr("\nguest_policy\n"));
  EXPECT_THAT(out_.str(), HasSubstr("abababab"));
}

TEST_F(Show, SaysTheSameInJson) {
  EXPECT_EQ(Run(Report(), "auto", true), kOk);
  EXPECT_EQ(At("/schema"), "\"caravan.evidence-show/1\"");
  EXPECT_EQ(At("/verified"), "false");
  EXPECT_EQ(At("/items/0/kind"), "\"sev-snp\"");
  EXPECT_EQ(At("/items/0/malformed"), "false");
  EXPECT_EQ(At("/items/0/sections/0/title"), "\"report\"");
  EXPECT_EQ(At("/items/0/sections/0/fields/0/name"), "\"version\"");
  EXPECT_EQ(At("/items/0/sections/0/fields/0/value"), "\"3\"");
}

TEST_F(Show, ShowsWhatItCanOfMalformedEvidenceAndFails) {
  std::string table =
      attester::MakeCertificateTable({{std::string(attester::kVcekGuid), "no certificate"}});
  EXPECT_EQ(Run(Report() + table), kUsage);
  EXPECT_THAT(out_.str(), HasSubstr("\nguest_policy\n"));
  EXPECT_THAT(out_.str(), HasSubstr("\nproblems\n"));
  EXPECT_THAT(err_.str(), HasSubstr("[MALFORMED]"));
  EXPECT_EQ(Run(Report() + table, "auto", true), kUsage);
  EXPECT_EQ(At("/items/0/malformed"), "true");
}

TEST_F(Show, TakesBytesForTheKindThatIsNamed) {
  EXPECT_EQ(Run(std::string(2000, '\xFF'), "tdx"), kUsage);
  EXPECT_THAT(out_.str(), StartsWith("not verified  tdx"));
  EXPECT_THAT(err_.str(), HasSubstr("version is 65535"));
}

TEST_F(Show, RefusesWhatLooksLikeNothing) {
  EXPECT_EQ(Run(std::string(100, '\xFF')), kUsage);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), HasSubstr("no known report or quote"));
  EXPECT_EQ(Run(Report(), "riscv"), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--kind is \"riscv\""));
}

TEST_F(Show, NamesAFileThatIsNotThere) {
  Context context{out_, err_};
  EXPECT_EQ(RunEvidenceShow(context, {"/nonexistent/evidence", "auto"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("/nonexistent/evidence"));
}

}  // namespace
}  // namespace caravan::cli
