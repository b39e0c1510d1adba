// What bash completes, in a real bash: what is declared, and names that the service knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/client/command.h"
#include "tests/client/fake_server.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::Contains;

/// What Tab offers behind these words, the last of which is being written.
std::vector<std::string> Offered(const std::vector<std::string>& words) {
  const std::string script = absl::StrCat(
      "source <('", ISOCENTER_BINARY, "' completion bash); COMP_WORDS=('", ISOCENTER_BINARY, "' ",
      absl::StrJoin(
          words, " ",
          [](std::string* out, const std::string& word) { absl::StrAppend(out, "'", word, "'"); }),
      "); COMP_CWORD=", words.size(),
      "; COMP_LINE=\"${COMP_WORDS[*]}\"; _isocenter; printf '%s\\n' ", "\"${COMPREPLY[@]}\"");
  TemporaryDirectory directory;  // bash would offer files of where the test runs
  WriteBytes(directory / "script", script);
  FILE* const shell =
      popen(absl::StrCat("cd '", directory.path().string(), "' && bash script").c_str(), "r");
  std::string offered;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), shell) != nullptr) offered += buffer.data();
  EXPECT_EQ(pclose(shell), 0) << offered;
  return absl::StrSplit(offered, '\n', absl::SkipEmpty());
}

/// Tab is pressed again where the service did not answer within its second, on a machine that does
/// much else.
std::vector<std::string> OfferedAtLast(const std::vector<std::string>& words) {
  std::vector<std::string> offered;
  for (int press = 0; press < 20 && offered.empty(); ++press) offered = Offered(words);
  return offered;
}

TEST(Completion, OffersCommandsFlagsAndTheirValues) {
  EXPECT_THAT(Offered({"str"}), testing::ElementsAre("stream"));
  EXPECT_THAT(Offered({"stream", "--fp"}), testing::ElementsAre("--fps"));
  EXPECT_THAT(Offered({"fetch", "J", "--format", ""}), testing::ElementsAre("dicom", "mha"));
}

TEST(Completion, OffersNamesThatTheServiceKnows) {
  FakeServer server;
  const std::string address = server.address();
  const Outcome jobs = RunCommand({"jobs", "--ids", "--server", address});
  const std::vector<std::string> ids = absl::StrSplit(jobs.out, '\n', absl::SkipEmpty());
  ASSERT_FALSE(ids.empty()) << jobs.err;
  EXPECT_THAT(OfferedAtLast({"fetch", "--server", address, "--overwrite", "x", ""}),
              Contains(ids[0]));
  EXPECT_THAT(OfferedAtLast({"stream", "x", "--server", address, "--protocol", ""}),
              Contains("fdk"));
}

TEST(Completion, IsSilentWhereNoServiceAnswers) {
  const absl::Time begin = absl::Now();
  EXPECT_THAT(Offered({"watch", "--server", "127.0.0.1:1", "x", ""}), testing::IsEmpty());
  EXPECT_THAT(Offered({"send", "J", "--server", "127.0.0.1:1", "--to", ""}), testing::IsEmpty());
  // A set on disk is a file.
  EXPECT_THAT(Offered({"reconstruct", "x", "--calibration", ""}), testing::ElementsAre("script"));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(30));  // of a machine that does much else
  const Outcome names = RunCommand({"__names", "job", "--server", "127.0.0.1:1"});
  EXPECT_EQ(names.exit_code, 0);
  EXPECT_EQ(names.out + names.err, "");
}

}  // namespace
}  // namespace isocenter::client_test
