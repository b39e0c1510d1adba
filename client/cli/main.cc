// The `isocenter` command. Exit codes: 0 success, 1 failure, 2 wrong usage.
#include <cstdio>
#include <cstdlib>

#include "client/cli/commands.h"

int main(int argc, char** argv) {
  // What gRPC would print beside our own message, unless somebody wants it.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  CLI::App app(
      "Isocenter: cone-beam CT reconstruction.\n"
      "Simulates acquisitions, reconstructs them here or streams them to a server, follows jobs, "
      "fetches and judges "
      "results.\n");
  app.name("isocenter");
  app.set_version_flag("--version", "isocenter " ISOCENTER_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Example: a phantom from exposure to picture\n"
      "  isocenter simulate --phantom head --out head --truth truth.mha\n"
      "  isocenter stream head --fps 30\n"
      "  isocenter fetch JOB --format mha --out volume.mha\n"
      "  isocenter render volume.mha --truth truth.mha --out sheet.png\n"
      "`isocenter COMMAND --help` explains a command.");

  isocenter::cli::Action action;
  isocenter::cli::AddSimulateCommand(app, action);
  isocenter::cli::AddReconstructCommand(app, action);
  isocenter::cli::AddStreamCommand(app, action);
  isocenter::cli::AddJobsCommand(app, action);
  isocenter::cli::AddWatchCommand(app, action);
  isocenter::cli::AddCancelCommand(app, action);
  isocenter::cli::AddRefineCommand(app, action);
  isocenter::cli::AddTraceCommand(app, action);
  isocenter::cli::AddDeleteCommand(app, action);
  isocenter::cli::AddFetchCommand(app, action);
  isocenter::cli::AddSendCommand(app, action);
  isocenter::cli::AddTransfersCommand(app, action);
  isocenter::cli::AddRetryCommand(app, action);
  isocenter::cli::AddProtocolsCommand(app, action);
  isocenter::cli::AddHealthCommand(app, action);
  isocenter::cli::AddWorklistCommand(app, action);
  isocenter::cli::AddStepsCommand(app, action);
  isocenter::cli::AddRenderCommand(app, action);
  isocenter::cli::AddCompareCommand(app, action);
  isocenter::cli::AddNodeCommands(app, action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (const absl::Status status = action(); !status.ok()) {
    const std::string message(status.message());
    std::fprintf(stderr, "isocenter: %s\n", message.c_str());
    return 1;
  }
  return 0;
}
