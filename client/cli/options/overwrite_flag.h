// --overwrite: the one rule for what a command finds where it is told to write
// (docs/user-guide/files.md).
#pragma once

#include "client/flags/command.h"

namespace isocenter::cli {

/// Scans, volumes, series, calibration sets and tables of matrices or poses are never replaced
/// without it; whoever writes them sets formats::Destination::replaces to it. Reports (JSON,
/// pictures, curves, traces) are made of them again at any time, and always replaced. The target
/// must outlive the parsing.
inline flags::Option AddOverwriteFlag(flags::Command command, bool& target) {
  return command.AddSwitch(
      "--overwrite", target,
      "replace scans, volumes, series, sets and tables that are there already; pictures and "
      "reports always are");
}

}  // namespace isocenter::cli
