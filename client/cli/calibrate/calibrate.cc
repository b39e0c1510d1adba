// isocenter calibrate: a calibration set, part by part.
#include "client/cli/calibrate/commands.h"
#include "client/cli/commands.h"

namespace isocenter::cli {

void AddCalibrateCommand(flags::Command program) {
  flags::Command command =
      program.Subcommand("calibrate", "Measure a detector and its beam, from sweeps and phantoms");
  command.Footer(
      "Example: a set of one station and mode\n"
      "  isocenter calibrate detector --dark dark --flat flat --station room3 --mode bin2 \\\n"
      "      --valid-days 30 --out room3.isocal\n"
      "  isocenter calibrate air --sweep empty --into room3.isocal\n"
      "  isocenter calibrate lag --step step --into room3.isocal\n"
      "  isocenter calibrate glare --disk disk --into room3.isocal\n"
      "  isocenter calibrate beam-hardening --scan water --diameter-mm 200 --into room3.isocal\n"
      "  isocenter calibrate bone --steps steps.txt --into room3.isocal\n"
      "  isocenter calibrate scatter --with thick --without thick_primary --into room3.isocal\n"
      "  isocenter calibrate scatter-model --with water --without water_primary \\\n"
      "      --into room3.isocal\n"
      "  isocenter calibrate hu --volume inserts.mha --inserts inserts.txt --into room3.isocal\n"
      "  isocenter calibrate verify --scan water2 --diameter-mm 200 --into room3.isocal\n"
      "and the geometry of its arm, a set of its own:\n"
      "  isocenter calibrate geometry --sweep beads --beads helix --station room3 --mode bin2 \\\n"
      "      --valid-days 90 --out room3_geometry.isocal\n"
      "docs/calibrating.md and docs/geometry.md say how each is taken, and when it is good "
      "enough.");
  AddCalibrateDetectorCommand(command);
  AddCalibrateAirCommand(command);
  AddCalibrateLagCommand(command);
  AddCalibrateGlareCommand(command);
  AddCalibrateBeamHardeningCommand(command);
  AddCalibrateBoneCommand(command);
  AddCalibrateScatterCommand(command);
  AddCalibrateScatterModelCommand(command);
  AddCalibrateHounsfieldCommand(command);
  AddCalibrateVerifyCommand(command);
  AddCalibrateGeometryCommand(command);
}

}  // namespace isocenter::cli
