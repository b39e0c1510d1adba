// The `isocenter` command. Exit codes: client/flags/exit_code.h.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/interrupt.h"
#include "client/flags/exit_code.h"
#include "client/flags/standard_output.h"

int main(int argc, char** argv) {
  isocenter::cli::EndBySignals();
  // What gRPC would print beside our own message, unless somebody wants it.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
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
    if (argc == 3 && std::strcmp(argv[2], "exit-codes") == 0) {
      std::fputs(isocenter::flags::ExitCodeTable().c_str(), stdout);
      return isocenter::flags::FlushStandardOutput().ok() ? 0 : 1;
    }
    arguments.erase(arguments.begin() + 1);
    arguments.push_back("--help");
  }

  root.Group("Acquire and reconstruct",
             {"simulate", "stream", "reconstruct", "refine", "calibrate", "consistency"});
  root.Group("Jobs and their results",
             {"jobs", "watch", "cancel", "delete", "fetch", "trace", "render", "compare", "qa"});
  root.Group("The PACS and the information system",
             {"send", "transfers", "retry", "worklist", "steps"});
  root.Group("The service", {"health", "status", "drain", "resume", "protocols", "calibrations",
                             "quality", "replicas"});
  root.Group("This program", {"completion"});
  return program.Run(argc, arguments.data());
}
