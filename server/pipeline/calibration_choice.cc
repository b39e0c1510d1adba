#include "server/pipeline/calibration_choice.h"

#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace isocenter::pipeline {
namespace {

using jobs::CalibrationLabel;
using jobs::CalibrationPolicy;

constexpr double kSameVoltageKv = 1;

std::string Size(const Detector& detector) {
  return absl::StrCat(detector.columns, "x", detector.rows, " pixels of ", detector.pitch_u_mm, "x",
                      detector.pitch_v_mm, " mm");
}

/// What keeps a set from being used, as parts of a sentence.
std::vector<std::string> Misfits(const CalibrationLabel& label, const AcquisitionRequest& request) {
  std::vector<std::string> misfits;
  if (label.withdrawn) misfits.push_back("has been withdrawn");
  if (label.geometry_frames > 0) misfits.push_back("has matrices, which correct no frames");
  const auto differs = [&](const char* what, const std::string& its, const std::string& asked) {
    misfits.push_back(absl::StrCat("is of ", what, " ", its, ", and the acquisition of ", asked));
  };
  const auto quoted = [](const std::string& text) { return absl::StrCat("'", text, "'"); };
  if (label.station_name != request.station_name) {
    differs("station", quoted(label.station_name), quoted(request.station_name));
  }
  if (label.detector_mode != request.detector_mode) {
    differs("detector mode", quoted(label.detector_mode), quoted(request.detector_mode));
  }
  const Detector& detector = request.acquisition.detector;
  if (label.detector != detector) differs("a detector of", Size(label.detector), Size(detector));
  const double kv = request.tube_voltage_kv;
  if (label.tube_voltage_kv != 0 && !(std::abs(label.tube_voltage_kv - kv) <= kSameVoltageKv)) {
    differs("tube voltage", absl::StrCat(label.tube_voltage_kv, " kV"),
            kv == 0 ? "one that is not told" : absl::StrCat(kv, " kV"));
  }
  return misfits;
}

bool IsValid(const CalibrationLabel& label, absl::Time now) {
  return label.valid_from <= now && now < label.valid_until;
}

std::string Validity(const CalibrationLabel& label) {
  const auto day = [](absl::Time time) {
    return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
  };
  return absl::StrCat("calibration '", label.name, "' is valid from ", day(label.valid_from),
                      " to ", day(label.valid_until), ", which is not now");
}

/// A label in the order of preference: fewer misfits, then valid, then newer.
struct Candidate {
  const CalibrationLabel* label;
  std::vector<std::string> misfits;
  bool valid;
  auto rank() const {
    return std::tuple(-static_cast<int>(misfits.size()), valid, label->created, label->name);
  }
};

std::optional<Candidate> Best(const std::vector<CalibrationLabel>& kept,
                              const AcquisitionRequest& request, absl::Time now) {
  std::optional<Candidate> best;
  for (const CalibrationLabel& label : kept) {
    if (!request.calibration_name.empty() && label.name != request.calibration_name) continue;
    // What another station lacks explains nothing.
    if (request.calibration_name.empty() && (label.station_name != request.station_name ||
                                             label.withdrawn || label.geometry_frames > 0)) {
      continue;
    }
    Candidate candidate{&label, Misfits(label, request), IsValid(label, now)};
    if (!best || candidate.rank() > best->rank()) best = std::move(candidate);
  }
  return best;
}

/// Why nothing is corrected.
std::string WhyNone(const std::optional<Candidate>& best, const AcquisitionRequest& request) {
  if (best) {
    return absl::StrCat("calibration '", best->label->name, "' does not fit: it ",
                        absl::StrJoin(best->misfits, "; it "));
  }
  if (!request.calibration_name.empty()) {
    return absl::StrCat("calibration is '", request.calibration_name,
                        "', and none of that name "
                        "is kept");
  }
  return absl::StrCat("no calibration of station '", request.station_name,
                      "' is kept, or all have been withdrawn");
}

absl::Status CheckNamed(const AcquisitionRequest& request) {
  if (request.calibration_name.empty()) return absl::OkStatus();
  const char* const why =
      request.calibration_policy == CalibrationPolicy::kNone
          ? "', and the protocol does not correct; legal is none, or a protocol with "
            "corrections.calibration"
      : request.acquisition.pixel_type != recon::PixelType::kUint16Counts
          ? "', and the frames are line integrals; legal is none, or counts"
          : nullptr;
  if (why == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("calibration is '", request.calibration_name, why));
}

absl::StatusOr<CalibrationChoice> Without(const AcquisitionRequest& request, std::string why) {
  if (request.calibration_policy == CalibrationPolicy::kRequire) {
    return absl::FailedPreconditionError(
        absl::StrCat("protocol '", request.protocol, "' requires a calibration: ", why));
  }
  return CalibrationChoice{
      .warning = jobs::JobWarning{jobs::WarningKind::kCalibration, std::nullopt,
                                  absl::StrCat("the frames are not corrected: ", why)}};
}

}  // namespace

absl::StatusOr<CalibrationChoice> ChooseCalibration(const std::vector<CalibrationLabel>& kept,
                                                    const AcquisitionRequest& request,
                                                    absl::Time now) {
  if (absl::Status named = CheckNamed(request); !named.ok()) return named;
  if (request.calibration_policy == CalibrationPolicy::kNone) return CalibrationChoice{};
  if (request.acquisition.pixel_type != recon::PixelType::kUint16Counts) {
    return Without(request, "they are line integrals; legal are counts");
  }
  const std::optional<Candidate> best = Best(kept, request, now);
  if (!best || !best->misfits.empty()) return Without(request, WhyNone(best, request));
  const CalibrationLabel& label = *best->label;
  if (!best->valid && request.calibration_policy == CalibrationPolicy::kRequire) {
    return Without(request, Validity(label));
  }
  CalibrationChoice choice{.used = jobs::UsedCalibration{.name = label.name,
                                                         .crc32c = label.crc32c,
                                                         .outside_validity = !best->valid,
                                                         .created = label.created}};
  if (!best->valid) {
    choice.warning = jobs::JobWarning{jobs::WarningKind::kCalibration, std::nullopt,
                                      absl::StrCat(Validity(label), "; it is used all the same")};
  }
  return choice;
}

absl::StatusOr<std::optional<jobs::JobWarning>> CheckRefinable(
    const AcquisitionRequest& request, const ops::Calibration* calibration) {
  if (!request.refinement) return std::nullopt;
  const std::string missing =
      MissingPart(*request.refinement, calibration != nullptr && calibration->bone.has_value(),
                  calibration != nullptr && calibration->scatter_model.has_value() &&
                      calibration->mu_water_per_mm > 0);
  if (missing.empty()) return std::nullopt;
  const std::string why = absl::StrCat(
      "protocol '", request.protocol, "' refines with a ", missing, ", and ",
      calibration == nullptr ? std::string("the frames have no calibration")
                             : absl::StrCat("the calibration '", calibration->name, "' has none"));
  if (request.calibration_policy == CalibrationPolicy::kRequire) {
    return absl::FailedPreconditionError(
        absl::StrCat(why, "; legal is one that has, or another protocol"));
  }
  return jobs::JobWarning{jobs::WarningKind::kCalibration, std::nullopt,
                          absl::StrCat(why, ": there will be no refinement")};
}

}  // namespace isocenter::pipeline
