// Every command ends with the codes of client/flags/exit_code.h, and with --json tells an error as
// a document.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/flags/command.h"
#include "client/flags/error_document.h"
#include "client/flags/exit_code.h"
#include "client/flags/incomplete.h"
#include "client/flags/wrong_usage.h"
#include "tests/client/command.h"
#include "tests/client/fake_server.h"
#include "tests/client/small_bundle.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// All commands and theirs, by what bash is told of them: "isocenter calibrate detector".
std::vector<std::vector<std::string>> AllCommands() {
  const std::string script = RunCommand({"completion", "bash"}).out;
  std::vector<std::vector<std::string>> commands;
  for (const absl::string_view line : absl::StrSplit(script, '\n')) {
    const std::vector<std::string> parts = absl::StrSplit(line, '\'');
    // "    'isocenter jobs') offered='--state ..' ;;", where a flag has its name in the quotes.
    if (parts.size() < 3 || parts[2] != ") offered=") continue;
    std::vector<std::string> words = absl::StrSplit(parts[1], ' ');
    if (words.size() < 2 || words.back().starts_with("--") || words.back() == "help") continue;
    words.erase(words.begin());
    commands.push_back(std::move(words));
  }
  return commands;
}

std::vector<std::string> With(std::vector<std::string> command,
                              const std::vector<std::string>& more) {
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

/// The document of an error on standard output.
nlohmann::json ErrorOf(const Outcome& outcome) {
  const auto document = nlohmann::json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(document.is_object() && document.contains("error")) << outcome.out << outcome.err;
  if (!document.is_object() || !document.contains("error")) return {};
  const nlohmann::json error = document["error"];
  for (const char* key : {"code", "message", "hint"}) {
    EXPECT_THAT(error.value(key, std::string()), Not(IsEmpty())) << key << outcome.out;
  }
  EXPECT_EQ(error.value("exit_code", -1), outcome.exit_code);
  return error;
}

TEST(ExitCodes, FollowFromTheStatus) {
  using flags::ExitCodeOf;
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("disk")), 1);
  EXPECT_EQ(ExitCodeOf(flags::WrongUsage("flags")), 2);
  EXPECT_EQ(ExitCodeOf(flags::NotPassed("noise")), 3);
  EXPECT_EQ(ExitCodeOf(flags::Incomplete("nodes")), 3);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("job")), 4);
  absl::Status refused = absl::FailedPreconditionError("no");
  EXPECT_EQ(ExitCodeOf(refused), 1);
  refused.SetPayload(flags::kServiceAnswer, absl::Cord());
  EXPECT_EQ(ExitCodeOf(refused), 5);
  EXPECT_EQ(ExitCodeOf(flags::RefusedByService("no")), 5);
  absl::Status later = absl::ResourceExhaustedError("full");
  later.SetPayload(flags::kServiceAnswer, absl::Cord());
  EXPECT_EQ(ExitCodeOf(later), 5);
  later.SetPayload(flags::kTryAgain, absl::Cord());
  EXPECT_EQ(ExitCodeOf(later), 6);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("away")), 6);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("slow")), 6);
  EXPECT_EQ(ExitCodeOf(flags::JobFailed(absl::StatusCode::kDataLoss, "job", "job-1")), 7);
  EXPECT_EQ(ExitCodeOf(flags::Interrupted("Ctrl-C")), 130);
}

TEST(ExitCodes, ADocumentNamesTheJob) {
  const auto error_of = [](const absl::Status& status) {
    return nlohmann::json::parse(flags::ErrorDocument(status, "")).at("error");
  };
  const auto failed =
      error_of(flags::JobFailed(absl::StatusCode::kFailedPrecondition, "lost frames", "job-1"));
  EXPECT_EQ(failed.at("job_id"), "job-1");
  EXPECT_EQ(failed.at("code"), "FAILED_PRECONDITION");
  EXPECT_EQ(failed.at("exit_code"), 7);
  EXPECT_EQ(error_of(absl::UnavailableError("away")).count("job_id"), 0);
}

TEST(ExitCodes, HelpHasTheTable) {
  const Outcome table = RunCommand({"help", "exit-codes"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_EQ(table.out, flags::ExitCodeTable());
  for (const int code : {0, 1, 2, 3, 4, 5, 6, 7, 130}) {
    EXPECT_THAT(table.out, HasSubstr(absl::StrCat("\n  ", code, " "))) << code;
  }
}

TEST(ExitCodes, OfWrongUsageAreTwoInEveryCommandAndADocument) {
  const auto commands = AllCommands();
  ASSERT_GE(commands.size(), 40u);
  for (const std::vector<std::string>& command : commands) {
    const Outcome outcome = RunCommand(With(command, {"--no-such-flag", "--json"}));
    EXPECT_EQ(outcome.exit_code, 2) << command.back() << outcome.err;
    EXPECT_EQ(ErrorOf(outcome).value("code", ""), "INVALID_ARGUMENT") << command.back();
    EXPECT_THAT(outcome.err, HasSubstr("--no-such-flag")) << command.back();
    // Without --json standard output stays empty.
    EXPECT_THAT(RunCommand(With(command, {"--no-such-flag"})).out, IsEmpty()) << command.back();
  }
}

TEST(ExitCodes, OfAServiceThatIsAwayAreSixAndADocument) {
  const std::vector<std::vector<std::string>> asking = {
      {"jobs"},
      {"watch", "j"},
      {"cancel", "j"},
      {"refine", "j", "--metal"},
      {"delete", "j"},
      {"fetch", "j", "--out", "/tmp/isocenter-none"},
      {"send", "j"},
      {"transfers"},
      {"retry", "--all"},
      {"destinations"},
      {"protocols"},
      {"worklist"},
      {"steps"},
      {"health"},
      {"status"},
      {"drain"},
      {"resume"},
      {"replicas", "list"},
      {"quality", "list"},
      {"quality", "trend"},
      {"calibrations", "list"},
      {"send", "--date", "20260131"}};
  for (const std::vector<std::string>& command : asking) {
    const Outcome outcome =
        RunCommand(With(command, {"--server", "unix:/nowhere/isocenter.sock", "--json"}));
    EXPECT_EQ(outcome.exit_code, 6) << command.front() << outcome.err;
    EXPECT_EQ(ErrorOf(outcome).value("code", ""), "UNAVAILABLE") << command.front();
    EXPECT_THAT(outcome.err, HasSubstr("cannot be reached")) << command.front();
  }
}

TEST(ExitCodes, ADocumentNamesTheJobThatTheLineNames) {
  const std::vector<std::vector<std::string>> lines = {
      {"watch", "job-7"},
      {"cancel", "job-7"},
      {"refine", "job-7", "--metal"},
      {"delete", "job-7"},
      {"fetch", "job-7", "--out", "/tmp/isocenter-none"},
      {"send", "job-7"},
      {"retry", "job-7"},
      {"transfers", "--job", "job-7"},
      {"replicas", "take", "job-7"},
      {"steps", "retry", "job-7"},
      {"qa", "--job", "job-7"},
      // Wrong usage: of the parser, and of the command.
      {"watch", "job-7", "--no-such-flag"},
      {"refine", "job-7", "--reference", "job-8", "--deadline", "soon"},
      {"refine", "job-7"},
      {"fetch", "job-7"},
  };
  for (const std::vector<std::string>& line : lines) {
    const Outcome outcome =
        RunCommand(With(line, {"--server", "unix:/nowhere/isocenter.sock", "--json"}));
    EXPECT_EQ(ErrorOf(outcome).value("job_id", ""), "job-7") << absl::StrJoin(line, " ");
  }
  // Which of several is not told.
  const Outcome several = RunCommand({"delete", "job-7", "job-8", "--older-than", "1d", "--json"});
  EXPECT_FALSE(ErrorOf(several).contains("job_id"));
}

TEST(ExitCodes, OfWhatIsNotThereAreFour) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"compare", "/none.mha", "--phantom", "head"},
        {"qa", "/none.mha"},
        {"consistency", "/none"},
        {"reconstruct", "/none", "--out", "/tmp/none.mha"}}) {
    const Outcome outcome = RunCommand(With(command, {"--json"}));
    EXPECT_EQ(outcome.exit_code, 4) << command.front() << outcome.err;
    EXPECT_EQ(ErrorOf(outcome).value("code", ""), "NOT_FOUND") << command.front();
  }
}

/// How `stream` ends at a service that behaves so.
Outcome StreamTo(const Behaviour& behaviour) {
  TemporaryDirectory directory;
  FakeServer server(behaviour);
  WriteBundle(directory / "b", 9);
  return RunCommand({"stream", directory / "b", "--server", server.address()});
}

TEST(ExitCodes, OfWhatMayFitLaterAreSixAndOfWhatNeverFitsFive) {
  Behaviour full;
  full.refuse = {grpc::StatusCode::RESOURCE_EXHAUSTED, "0 are free of 16; perhaps try again"};
  // Words decide nothing.
  Outcome outcome = StreamTo(full);
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("0 are free of 16"));
  full.trailers = {{"isocenter-try-again", "later"}};
  outcome = StreamTo(full);
  EXPECT_EQ(outcome.exit_code, 6) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("0 are free of 16"));
}

TEST(ExitCodes, OfAConsoleThatWasOvertakenIsFive) {
  Behaviour overtaken;
  overtaken.fail_at_frame = 4;
  overtaken.failure = {grpc::StatusCode::ABORTED, "another stream has taken over job 'job-1'"};
  const Outcome outcome = StreamTo(overtaken);
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("the job goes on with that one: isocenter watch job-1"));
}

TEST(ExitCodes, TheHelpAndTheDocumentationSayTheSame) {
  const std::string help = RunCommand({"help", "exit-codes"}).out;
  EXPECT_EQ(help, flags::ExitCodeTable());
  // As one line, whatever is wrapped.
  const std::string told =
      absl::StrJoin(absl::StrSplit(help, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
  const std::string page = ReadBytes(ISOCENTER_SOURCE_DIR "/docs/user-guide/console.md");
  for (const flags::ExitCodeMeaning& row : flags::ExitCodeMeanings()) {
    EXPECT_THAT(told, HasSubstr(absl::StrCat(row.code, " ", row.means)));
    const std::string start = absl::StrCat("| ", row.code, " | ");
    const size_t at = page.find(start);
    ASSERT_NE(at, std::string::npos) << row.code;
    // Without marks of code, and without a link to the decision.
    std::string line = absl::StrReplaceAll(page.substr(at, page.find('\n', at) - at), {{"`", ""}});
    if (const size_t link = line.find(" ([ADR"); link != std::string::npos) {
      line.erase(link, line.find("))", link) + 2 - link);
    }
    const std::string then = *row.for_script == '\0' ? "|" : absl::StrCat(row.for_script, " |");
    EXPECT_EQ(line, absl::StrCat(start, row.means, " | ", then));
  }
}

TEST(ExitCodes, AFileOfADocumentIsLeftAloneByAnError) {
  TemporaryDirectory directory;
  const std::string file = directory / "j.json";
  WriteBytes(file, "{}");
  const Outcome outcome = RunCommand({"compare", "/none.mha", "--phantom", "head", "--json", file});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(ReadBytes(file), "{}");
}

TEST(ExitCodes, TheHintIsWhatIsLegal) {
  const auto hint = [](const std::string& message) {
    return nlohmann::json::parse(
        flags::ErrorDocument(absl::InvalidArgumentError(message), "ask"))["error"]["hint"];
  };
  EXPECT_EQ(hint("a is 3; legal is 1 or 2"), "legal is 1 or 2");
  EXPECT_EQ(hint("no 'pac'; did you mean PACS?"), "did you mean PACS?");
  EXPECT_EQ(hint("the disk is full"), "ask");
}

TEST(Times, HaveUnitsAndARange) {
  const auto health = [](const std::string& time) {
    return RunCommand({"health", "--server", "unix:/nowhere/s", "--timeout", time});
  };
  for (const char* legal : {"1", "0.5", "500ms", "1s", "0.01m"}) {
    EXPECT_EQ(health(legal).exit_code, 6) << legal;
  }
  for (const char* illegal : {"20m", "2h", "soon", "1 week", "", "-1s", "1e9"}) {
    const Outcome outcome = health(illegal);
    EXPECT_EQ(outcome.exit_code, 2) << illegal;
    EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat("'", illegal,
                                                    "'; legal is a time of 0.1 to 60 "
                                                    "seconds: a number of seconds, or of a unit")));
  }
}

TEST(Stations, AreNamesInEveryCommand) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"jobs"},
        {"quality", "list"},
        {"quality", "trend"},
        {"calibrations", "list"},
        {"qa", "v.mha", "--record", "--protocol", "fdk"},
        {"stream", "bundle"},
        {"simulate", "--phantom", "head", "--out", "b"},
        {"calibrate", "detector", "--dark", "d", "--flat", "f", "--mode", "m", "--out", "o"}}) {
    for (const char* wrong : {"room 1", "a/b", ""}) {
      const Outcome outcome = RunCommand(With(command, {"--station", wrong}));
      EXPECT_EQ(outcome.exit_code, 2) << command.front() << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr(absl::StrCat("--station is '", wrong,
                                                      "'; legal are 1 to 64 characters")))
          << command.front();
    }
  }
}

}  // namespace
}  // namespace isocenter::client_test
