// The subcommands of `isocenter`. Each Add...Command declares its flags, and what it does.
#pragma once

#include "client/flags/command.h"

namespace isocenter::cli {

void AddSimulateCommand(flags::Command program);
void AddReconstructCommand(flags::Command program);
void AddStreamCommand(flags::Command program);
void AddJobsCommand(flags::Command program);
void AddWatchCommand(flags::Command program);
void AddCancelCommand(flags::Command program);
void AddRefineCommand(flags::Command program);
void AddTraceCommand(flags::Command program);
void AddHealthCommand(flags::Command program);
void AddDeleteCommand(flags::Command program);
void AddStepsCommand(flags::Command program);
void AddSendCommand(flags::Command program);
void AddRetryCommand(flags::Command program);
void AddDestinationsCommand(flags::Command program);
void AddTransfersCommand(flags::Command program);
void AddFetchCommand(flags::Command program);
void AddProtocolsCommand(flags::Command program);
void AddCalibrationsCommand(flags::Command program);
void AddWorklistCommand(flags::Command program);
void AddRenderCommand(flags::Command program);
void AddQaCommand(flags::Command program);
void AddQualityCommand(flags::Command program);
void AddCompareCommand(flags::Command program);
void AddConsistencyCommand(flags::Command program);
void AddCalibrateCommand(flags::Command program);
void AddStatusCommand(flags::Command program);
/// Copies of other nodes' frames.
void AddReplicasCommand(flags::Command program);
/// drain, resume
void AddNodeCommands(flags::Command program);

}  // namespace isocenter::cli
