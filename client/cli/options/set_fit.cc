#include "client/cli/options/set_fit.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/ops/calibration_scope.h"
#include "proto/wire/geometry.h"

namespace isocenter::cli {

SetFit FitOf(const v1::CalibrationSet& set, const v1::AcquisitionHeader& header) {
  SetFit fit;
  const auto told = [&](const std::string& its, const std::string& of_set, const char* what) {
    if (!its.empty() || of_set.empty()) return its;
    fit.untold.emplace_back(what);
    return of_set;
  };
  ops::CalibrationScope acquisition{
      .station_name = told(header.station_name(), set.station_name(), "station"),
      .detector_mode = told(header.detector_mode(), set.detector_mode(), "detector mode"),
      .detector = wire::DetectorFromProto(header.detector()).value_or(Detector()),
      .tube_voltage_kv = header.tube_voltage_kv()};
  if (acquisition.tube_voltage_kv == 0 && set.tube_voltage_kv() != 0) {
    fit.untold.emplace_back("tube voltage");
    acquisition.tube_voltage_kv = set.tube_voltage_kv();
  }
  fit.misfits =
      ops::Misfits({.station_name = set.station_name(),
                    .detector_mode = set.detector_mode(),
                    .detector = wire::DetectorFromProto(set.detector()).value_or(Detector()),
                    .tube_voltage_kv = set.tube_voltage_kv(),
                    .matrices = set.geometry_frames() > 0},
                   acquisition);
  return fit;
}

std::string UntoldText(const std::string& set_name, const SetFit& fit) {
  return absl::StrCat("the acquisition does not tell its ", absl::StrJoin(fit.untold, ", "),
                      ": that calibration '", set_name, "' fits is taken for granted");
}

}  // namespace isocenter::cli
