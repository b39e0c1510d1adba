// The subcommands of `isocenter`. Each Add...Command declares its flags and, when it is the one
// that was called, leaves what it does in `action`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "absl/status/status.h"

namespace isocenter::cli {

/// Does the work after parsing. OK: exit code 0; an error: its message on stderr and exit code 1.
using Action = std::function<absl::Status()>;

void AddSimulateCommand(CLI::App& app, Action& action);
void AddReconstructCommand(CLI::App& app, Action& action);
void AddStreamCommand(CLI::App& app, Action& action);
void AddJobsCommand(CLI::App& app, Action& action);
void AddWatchCommand(CLI::App& app, Action& action);
void AddCancelCommand(CLI::App& app, Action& action);
void AddRefineCommand(CLI::App& app, Action& action);
void AddTraceCommand(CLI::App& app, Action& action);
void AddHealthCommand(CLI::App& app, Action& action);
void AddDeleteCommand(CLI::App& app, Action& action);
void AddStepsCommand(CLI::App& app, Action& action);
void AddSendCommand(CLI::App& app, Action& action);
void AddRetryCommand(CLI::App& app, Action& action);
void AddTransfersCommand(CLI::App& app, Action& action);
void AddFetchCommand(CLI::App& app, Action& action);
void AddProtocolsCommand(CLI::App& app, Action& action);
void AddWorklistCommand(CLI::App& app, Action& action);
void AddRenderCommand(CLI::App& app, Action& action);
void AddCompareCommand(CLI::App& app, Action& action);
/// drain, resume, status
void AddNodeCommands(CLI::App& app, Action& action);

}  // namespace isocenter::cli
