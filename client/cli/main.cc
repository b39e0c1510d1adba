// The `isocenter` command. Exit codes: client/flags/exit_code.h.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/cli/options/known_names.h"
#include "client/flags/exit_code.h"
#include "client/flags/standard_output.h"
#include "kernels/base/nearest.h"

namespace {

/// As `--help` shows them.
const std::vector<std::pair<const char*, std::vector<std::string>>> kGroups = {
    {"Acquire and reconstruct",
     {"simulate", "stream", "reconstruct", "refine", "calibrate", "consistency"}},
    {"Jobs and their results",
     {"jobs", "watch", "cancel", "delete", "fetch", "trace", "render", "compare", "qa"}},
    {"The PACS and the information system",
     {"send", "transfers", "retry", "destinations", "worklist", "steps"}},
    {"The service",
     {"health", "status", "drain", "resume", "protocols", "calibrations", "quality", "replicas"}},
    {"This program", {"completion"}}};

/// Ends `isocenter help TOPIC`. The exit code; empty where it is the help of a command.
std::optional<int> HelpOfTopic(const std::string& topic) {
  const auto tell = [](const std::string& text) {
    std::fputs(text.c_str(), stdout);
    return isocenter::flags::FlushStandardOutput().ok() ? isocenter::flags::kExitDone
                                                        : isocenter::flags::kExitFailed;
  };
  if (topic == isocenter::flags::kExitCodesTopic) return tell(isocenter::flags::ExitCodeTable());
  if (topic == "help") {
    return tell(absl::StrCat(
        "Explain a command, or what exit codes mean\n"
        "Usage: isocenter help [COMMAND [COMMAND]]\n"
        "       isocenter help ",
        isocenter::flags::kExitCodesTopic,
        "\n\n"
        "The same as `isocenter COMMAND --help`; without COMMAND all commands are named.\n\n"
        "Examples:\n"
        "  isocenter help stream\n"
        "  isocenter help calibrate detector\n"));
  }
  std::vector<std::string> known{isocenter::flags::kExitCodesTopic};
  for (const auto& [heading, commands] : kGroups) {
    if (std::ranges::find(commands, topic) != commands.end()) return std::nullopt;
    known.insert(known.end(), commands.begin(), commands.end());
  }
  if (topic.starts_with('-')) return std::nullopt;
  // "codes", "exitcode" and "exit-status" are what other programs call it.
  const bool exits = topic.find("exit") != topic.npos || topic.find("code") != topic.npos;
  const std::string meant =
      exits ? absl::StrCat("; did you mean ", isocenter::flags::kExitCodesTopic, "?")
            : isocenter::DidYouMean(topic, known);
  std::fprintf(stderr,
               "isocenter: there is no command '%s'%s\n`isocenter --help` names all commands, "
               "`isocenter help %s` what exit codes mean.\n",
               topic.c_str(), meant.c_str(), isocenter::flags::kExitCodesTopic);
  return isocenter::flags::kExitUsage;
}

}  // namespace

int main(int argc, char** argv) {
  isocenter::cli::EndBySignals();
  // What gRPC would print beside our own message, unless somebody wants it.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  if (argc > 1 && std::strcmp(argv[1], isocenter::cli::kNamesCommand) == 0) {
    return isocenter::cli::PrintKnownNames(argc - 1, argv + 1);
  }
  isocenter::flags::Program program(
      "isocenter", ISOCENTER_VERSION,
      "Isocenter: cone-beam CT reconstruction.\n"
      "Simulates acquisitions, reconstructs them here or streams them to a server, follows jobs, "
      "fetches and judges "
      "results.\n");
  isocenter::flags::Command root = program.root();
  root.Footer(
      "Example: a phantom from exposure to picture\n"
      "  isocenter simulate --phantom head --out head --truth truth.mha\n"
      "  isocenter stream head --fps 30                   says the JOB's id\n"
      "  isocenter fetch JOB --out volume.mha\n"
      "  isocenter render volume.mha --truth truth.mha --out sheet.png\n"
      "`isocenter COMMAND --help` explains a command; `source <(isocenter completion bash)` has "
      "bash "
      "complete them.\n"
      "Scans, volumes, series, sets and tables that are there already are replaced with "
      "--overwrite only; pictures "
      "and reports always.\n"
      "Exit code 0 means done; `isocenter help exit-codes` tells the others.");

  isocenter::cli::AddSimulateCommand(root);
  isocenter::cli::AddReconstructCommand(root);
  isocenter::cli::AddStreamCommand(root);
  isocenter::cli::AddJobsCommand(root);
  isocenter::cli::AddWatchCommand(root);
  isocenter::cli::AddCancelCommand(root);
  isocenter::cli::AddRefineCommand(root);
  isocenter::cli::AddTraceCommand(root);
  isocenter::cli::AddDeleteCommand(root);
  isocenter::cli::AddFetchCommand(root);
  isocenter::cli::AddSendCommand(root);
  isocenter::cli::AddTransfersCommand(root);
  isocenter::cli::AddRetryCommand(root);
  isocenter::cli::AddDestinationsCommand(root);
  isocenter::cli::AddProtocolsCommand(root);
  isocenter::cli::AddCalibrationsCommand(root);
  isocenter::cli::AddQualityCommand(root);
  isocenter::cli::AddHealthCommand(root);
  isocenter::cli::AddWorklistCommand(root);
  isocenter::cli::AddStepsCommand(root);
  isocenter::cli::AddRenderCommand(root);
  isocenter::cli::AddCompareCommand(root);
  isocenter::cli::AddQaCommand(root);
  isocenter::cli::AddConsistencyCommand(root);
  isocenter::cli::AddCalibrateCommand(root);
  isocenter::cli::AddStatusCommand(root);
  isocenter::cli::AddNodeCommands(root);
  isocenter::cli::AddReplicasCommand(root);

  program.AddCompletion();
  // `isocenter help COMMAND`, as many programs have it, is `isocenter COMMAND --help`.
  std::vector<const char*> arguments(argv, argv + argc);
  if (argc > 1 && std::strcmp(argv[1], "help") == 0) {
    if (argc > 2) {
      if (const std::optional<int> ended = HelpOfTopic(argv[2])) return *ended;
    }
    arguments.erase(arguments.begin() + 1);
    arguments.push_back("--help");
  }

  for (const auto& [heading, commands] : kGroups) root.Group(heading, commands);
  return program.Run(argc, arguments.data());
}
