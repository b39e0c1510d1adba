// `isocenter calibrate`: what corrections need to know, from sweeps and scans of phantoms.
#pragma once

#include "client/flags/command.h"

namespace isocenter::cli {

void AddCalibrateDetectorCommand(flags::Command calibrate);
void AddCalibrateAirCommand(flags::Command calibrate);
void AddCalibrateLagCommand(flags::Command calibrate);
void AddCalibrateBeamHardeningCommand(flags::Command calibrate);
void AddCalibrateBoneCommand(flags::Command calibrate);
void AddCalibrateGlareCommand(flags::Command calibrate);
void AddCalibrateGeometryCommand(flags::Command calibrate);
void AddCalibrateHounsfieldCommand(flags::Command calibrate);
void AddCalibrateScatterCommand(flags::Command calibrate);
void AddCalibrateScatterModelCommand(flags::Command calibrate);
void AddCalibrateVerifyCommand(flags::Command calibrate);

}  // namespace isocenter::cli
