// What shells complete, in real ones: what is declared, and names that the service knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
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

TEST(Completion, OffersWhatHelpAndCompletionTake) {
  EXPECT_THAT(Offered({"help", "ex"}), testing::ElementsAre("exit-codes"));
  EXPECT_THAT(Offered({"help", "str"}), testing::ElementsAre("stream"));
  EXPECT_THAT(Offered({"completion", ""}), testing::ElementsAre("bash", "zsh", "fish"));
}

TEST(Completion, OffersWordsOrFilesWhereBothAreLegal) {
  EXPECT_THAT(Offered({"simulate", "--trajectory", "s"}),
              testing::UnorderedElementsAre("sine", "saddle"));
  EXPECT_THAT(Offered({"simulate", "--trajectory", "./"}), testing::ElementsAre("./script"));
}

TEST(Completion, OffersMoreBehindACommaAndAnEqualsSign) {
  EXPECT_THAT(Offered({"jobs", "--state", "completed,fa"}),
              testing::ElementsAre("completed,failed"));
  EXPECT_THAT(Offered({"fetch", "J", "--format", "=", "d"}), testing::ElementsAre("dicom"));
  EXPECT_THAT(Offered({"fetch", "J", "--format", "="}), testing::ElementsAre("dicom", "mha"));
  // As one word, which bash makes of it without '=' in COMP_WORDBREAKS.
  EXPECT_THAT(Offered({"fetch", "J", "--format=d"}), testing::ElementsAre("--format=dicom"));
}

TEST(Completion, OffersJobsThatTheCommandIsFor) {
  FakeServer server;
  const std::string address = server.address();
  // Its jobs are all being received.
  EXPECT_THAT(OfferedAtLast({"cancel", "--server", address, "x", ""}), Contains("job-0"));
  const Outcome completed = RunCommand({"__names", "completed", "--server", address});
  EXPECT_EQ(completed.exit_code, 0);
  EXPECT_EQ(server.states_listed(), std::vector<int>{v1::JOB_STATE_COMPLETED});
}

TEST(Completion, RunsInZsh) {
  if (std::system("zsh -c true >/dev/null 2>&1") != 0) GTEST_SKIP() << "zsh is missing";
  TemporaryDirectory directory;
  WriteBytes(
      directory / "script",
      absl::StrCat("source <('", ISOCENTER_BINARY, "' completion zsh)\n", "emulate -L sh\n",
                   "COMP_WORDS=('", ISOCENTER_BINARY, "' jobs --state completed,fa) COMP_CWORD=3\n",
                   "COMP_LINE=\"${COMP_WORDS[*]}\"\n", "compgen() { printf '%s|' \"$@\"; }\n",
                   "_isocenter\n", "printf '%s\\n' \"${COMPREPLY[@]}\"\n"));
  const std::string out = directory / "out";
  ASSERT_EQ(std::system(absl::StrCat("ZDOTDIR=", directory.path().string(), " zsh -f ",
                                     (directory / "script").string(), " >", out, " 2>&1")
                            .c_str()),
            0)
      << ReadBytes(out);
  EXPECT_THAT(ReadBytes(out), testing::HasSubstr("-P|completed,|-W|receiving"));
}

/// What fish offers at the end of a line of isocenter's, sorted.
std::vector<std::string> OfferedByFish(const std::string& line) {
  TemporaryDirectory directory;
  WriteBytes(directory / "afile", "");
  const std::string out = directory / "out";
  const std::string script =
      absl::StrCat("'", ISOCENTER_BINARY, "' completion fish | source; cd ",
                   directory.path().string(), "; complete -C '", ISOCENTER_BINARY, " ", line, "'");
  WriteBytes(directory / "script", script);
  EXPECT_EQ(std::system(absl::StrCat("HOME=", directory.path().string(), " fish -N ",
                                     (directory / "script").string(), " >", out, " 2>&1")
                            .c_str()),
            0)
      << ReadBytes(out);
  std::vector<std::string> words;
  for (absl::string_view offer : absl::StrSplit(ReadBytes(out), '\n', absl::SkipEmpty())) {
    words.emplace_back(offer.substr(0, offer.find('\t')));  // behind it, the help
  }
  return words;
}

TEST(Completion, RunsInFish) {
  if (std::system("fish -N -c true >/dev/null 2>&1") != 0) GTEST_SKIP() << "fish is missing";
  using testing::ElementsAre;
  using testing::UnorderedElementsAre;
  EXPECT_THAT(OfferedByFish("str"), ElementsAre("stream"));
  EXPECT_THAT(OfferedByFish("calibrate "),
              testing::AllOf(Contains("air"), Contains("hu"), testing::Not(Contains("afile"))));
  EXPECT_THAT(OfferedByFish("stream x --fp"), ElementsAre("--fps"));
  EXPECT_THAT(OfferedByFish("fetch J --format "), UnorderedElementsAre("dicom", "mha"));
  EXPECT_THAT(OfferedByFish("fetch J --format=d"), ElementsAre("--format=dicom"));
  EXPECT_THAT(OfferedByFish("jobs --state completed,fa"), ElementsAre("completed,failed"));
  EXPECT_THAT(OfferedByFish("jobs --state=completed,fa"), ElementsAre("--state=completed,failed"));
  EXPECT_THAT(OfferedByFish("simulate --trajectory sa"), ElementsAre("saddle"));
  EXPECT_THAT(OfferedByFish("simulate --trajectory af"), ElementsAre("afile"));
  EXPECT_THAT(OfferedByFish("help ex"), ElementsAre("exit-codes"));
  EXPECT_THAT(OfferedByFish("completion "), UnorderedElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(OfferedByFish("compare af"), ElementsAre("afile"));
}

TEST(Completion, AsksInFishForNamesThatTheServiceKnows) {
  if (std::system("fish -N -c true >/dev/null 2>&1") != 0) GTEST_SKIP() << "fish is missing";
  FakeServer server;
  const std::string stream = absl::StrCat("stream x --server ", server.address(), " --protocol ");
  std::vector<std::string> offered;
  for (int press = 0; press < 20 && offered.empty(); ++press) offered = OfferedByFish(stream);
  EXPECT_THAT(offered, Contains("fdk"));
}

TEST(Completion, OffersNamesThatTheServiceKnows) {
  FakeServer server;
  const std::string address = server.address();
  const Outcome jobs = RunCommand({"jobs", "--ids", "--server", address});
  const std::vector<std::string> ids = absl::StrSplit(jobs.out, '\n', absl::SkipEmpty());
  ASSERT_FALSE(ids.empty()) << jobs.err;
  EXPECT_THAT(OfferedAtLast({"watch", "--server", address, "x", ""}), Contains(ids[0]));
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
