// Whether a calibration set's file is of what an acquisition's files say of themselves.
#pragma once

#include <string>
#include <vector>

#include "isocenter/v1/acquisition.pb.h"
#include "isocenter/v1/calibration.pb.h"

namespace isocenter::cli {

struct SetFit {
  /// As ops::Misfits, but for what the acquisition does not tell.
  std::vector<std::string> misfits;
  /// What the set names and the acquisition does not tell: "station", "detector mode", "tube
  /// voltage". Many file formats have no place for it.
  std::vector<std::string> untold;
};

/// `set` is a legal label, the header one that wire::AcquisitionFromProto takes.
SetFit FitOf(const v1::CalibrationSet& set, const v1::AcquisitionHeader& header);

/// Of a fit that has something untold, for users.
std::string UntoldText(const std::string& set_name, const SetFit& fit);

}  // namespace isocenter::cli
