#include "server/pipeline/calibration_choice.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/nearest.h"
#include "kernels/ops/calibration.h"
#include "kernels/ops/calibration_scope.h"

namespace isocenter::pipeline {
namespace {

using jobs::CalibrationLabel;
using jobs::CalibrationPolicy;

/// What keeps a set from being used, as parts of a sentence.
std::vector<std::string> Misfits(const CalibrationLabel& label, const AcquisitionRequest& request) {
  std::vector<std::string> misfits = ops::Misfits({.station_name = label.station_name,
                                                   .detector_mode = label.detector_mode,
                                                   .detector = label.detector,
                                                   .tube_voltage_kv = label.tube_voltage_kv,
                                                   .matrices = label.geometry_frames > 0},
                                                  {.station_name = request.station_name,
                                                   .detector_mode = request.detector_mode,
                                                   .detector = request.acquisition.detector,
                                                   .tube_voltage_kv = request.tube_voltage_kv});
  if (label.withdrawn) misfits.emplace(misfits.begin(), "has been withdrawn");
  return misfits;
}

/// Without a set there is no acquisition.
bool Requires(CalibrationPolicy policy) {
  return policy == CalibrationPolicy::kRequire || policy == CalibrationPolicy::kRequireVerified;
}

/// Clocks differ, and so do time zones that somebody forgot.
constexpr absl::Duration kClocksDiffer = absl::Hours(24);

/// Why a set does not count as verified; empty: it does.
std::string WhyNotVerified(const CalibrationLabel& label, absl::Time now) {
  if (!label.verified) {
    return absl::StrCat("calibration '", label.name,
                        "' is the newest that fits and has not been verified; legal is one that a "
                        "scan of water has been through (`isocenter calibrate verify`)");
  }
  if (*label.verified <= now + kClocksDiffer) return "";
  return absl::StrCat("calibration '", label.name, "' was verified at ",
                      absl::FormatTime("%Y-%m-%d %H:%M UTC", *label.verified, absl::UTCTimeZone()),
                      ", which has not come yet; legal is a time before now");
}

ops::Validity ValidityOf(const CalibrationLabel& label) {
  return {label.valid_from, label.valid_until};
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
    Candidate candidate{&label, Misfits(label, request), ValidityOf(label).Has(now)};
    if (!best || candidate.rank() > best->rank()) best = std::move(candidate);
  }
  return best;
}

/// What the newest set lacks and an older one has that would do, too: the newest may have been
/// begun anew and not finished. Empty: nothing.
std::string LacksText(const std::vector<CalibrationLabel>& kept, const CalibrationLabel& chosen,
                      const AcquisitionRequest& request, absl::Time now) {
  std::vector<std::string> missing;
  const CalibrationLabel* with = nullptr;
  for (const CalibrationLabel& label : kept) {
    if (!ValidityOf(label).Has(now) || !Misfits(label, request).empty()) continue;
    std::vector<std::string> lacks;
    std::ranges::copy_if(label.parts, std::back_inserter(lacks), [&](const std::string& part) {
      return std::ranges::find(chosen.parts, part) == chosen.parts.end();
    });
    if (lacks.size() <= missing.size()) continue;
    missing = std::move(lacks);
    with = &label;
  }
  if (with == nullptr) return "";
  return absl::StrCat("calibration '", chosen.name, "' is the newest that fits, and has no ",
                      absl::StrJoin(missing, ", "), "; '", with->name,
                      "' has and is valid, too: name the one that is meant, or withdraw the other "
                      "(`isocenter calibrations withdraw`)");
}

/// Why nothing is corrected.
std::string WhyNone(const std::vector<CalibrationLabel>& kept, const std::optional<Candidate>& best,
                    const AcquisitionRequest& request) {
  if (best) return ops::MisfitText(best->label->name, best->misfits);
  if (!request.calibration_name.empty()) {
    std::vector<std::string> names;
    for (const CalibrationLabel& label : kept) names.push_back(label.name);
    return absl::StrCat("calibration is '", request.calibration_name,
                        "', and none of that name is kept",
                        DidYouMean(request.calibration_name, names));
  }
  std::vector<std::string> stations;
  for (const CalibrationLabel& label : kept) stations.push_back(label.station_name);
  std::ranges::sort(stations);
  stations.erase(std::unique(stations.begin(), stations.end()), stations.end());
  return absl::StrCat("no calibration of station '", request.station_name,
                      "' is kept, or all have been withdrawn",
                      DidYouMean(request.station_name, stations));
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
  if (Requires(request.calibration_policy)) {
    return absl::FailedPreconditionError(
        absl::StrCat("protocol '", request.protocol, "' requires a calibration: ", why));
  }
  return CalibrationChoice{
      .warning = jobs::JobWarning{jobs::WarningKind::kCalibration, std::nullopt,
                                  absl::StrCat("the frames are not corrected: ", why)}};
}

/// Nobody asked for a correction. Who keeps a set that fits may have forgotten to.
CalibrationChoice WhereNoneIsAskedFor(const std::vector<CalibrationLabel>& kept,
                                      const AcquisitionRequest& request, absl::Time now) {
  if (request.acquisition.pixel_type != recon::PixelType::kUint16Counts) return {};
  const std::optional<Candidate> best = Best(kept, request, now);
  if (!best || !best->misfits.empty() || !best->valid) {
    // Frames that were corrected before they came have no mode of a detector.
    if (request.detector_mode.empty()) return {};
    return CalibrationChoice{
        .warning = jobs::JobWarning{
            jobs::WarningKind::kCalibration, std::nullopt,
            absl::StrCat(
                "the frames are raw counts of detector mode '", request.detector_mode,
                "' and are not corrected: protocol '", request.protocol,
                "' does not ask for a calibration (corrections.calibration), and ",
                best ? best->misfits.empty()
                           ? ops::NotValidText(best->label->name, ValidityOf(*best->label))
                           : ops::MisfitText(best->label->name, best->misfits)
                     : absl::StrCat("none of station '", request.station_name, "' is kept"))}};
  }
  return CalibrationChoice{
      .warning = jobs::JobWarning{
          jobs::WarningKind::kCalibration, std::nullopt,
          absl::StrCat("the frames are not corrected: calibration '", best->label->name,
                       "' is kept and fits, but protocol '", request.protocol,
                       "' does not ask for one (corrections.calibration)")}};
}

}  // namespace

absl::StatusOr<CalibrationChoice> ChooseCalibration(const std::vector<CalibrationLabel>& kept,
                                                    const AcquisitionRequest& request,
                                                    absl::Time now) {
  if (absl::Status named = CheckNamed(request); !named.ok()) return named;
  if (request.calibration_policy == CalibrationPolicy::kNone) {
    return WhereNoneIsAskedFor(kept, request, now);
  }
  if (request.is_without_calibration) {
    return CalibrationChoice{.warning =
                                 jobs::JobWarning{jobs::WarningKind::kCalibration, std::nullopt,
                                                  "the frames are not corrected: the node that "
                                                  "began the job had no calibration that fits"}};
  }
  if (request.acquisition.pixel_type != recon::PixelType::kUint16Counts) {
    return Without(request, "they are line integrals; legal are counts");
  }
  const std::optional<Candidate> best = Best(kept, request, now);
  if (!best || !best->misfits.empty()) return Without(request, WhyNone(kept, best, request));
  const CalibrationLabel& label = *best->label;
  if (!best->valid && Requires(request.calibration_policy)) {
    return Without(request, ops::NotValidText(label.name, ValidityOf(label)));
  }
  const std::string why_not_verified = WhyNotVerified(label, now);
  if (!why_not_verified.empty() &&
      request.calibration_policy == CalibrationPolicy::kRequireVerified) {
    return Without(request, why_not_verified);
  }
  CalibrationChoice choice{.used = jobs::UsedCalibration{.name = label.name,
                                                         .crc32c = label.crc32c,
                                                         .outside_validity = !best->valid,
                                                         .created = label.created,
                                                         .verified = why_not_verified.empty()}};
  if (!best->valid) {
    choice.warning = jobs::JobWarning{
        jobs::WarningKind::kCalibration, std::nullopt,
        absl::StrCat(ops::NotValidText(label.name, ValidityOf(label)), ops::kUsedAllTheSame)};
  } else if (request.calibration_name.empty()) {
    if (std::string lacks = LacksText(kept, label, request, now); !lacks.empty()) {
      choice.warning =
          jobs::JobWarning{jobs::WarningKind::kCalibration, std::nullopt, std::move(lacks)};
    }
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
  if (Requires(request.calibration_policy)) {
    return absl::FailedPreconditionError(
        absl::StrCat(why, "; legal is one that has, or another protocol"));
  }
  return jobs::JobWarning{jobs::WarningKind::kCalibration, std::nullopt,
                          absl::StrCat(why, ": there will be no refinement")};
}

std::optional<jobs::JobWarning> CheckWater(const ops::Calibration& calibration) {
  if (calibration.mu_water_per_mm > 0) return std::nullopt;
  return jobs::JobWarning{jobs::WarningKind::kCalibration, std::nullopt,
                          ops::NoWaterText(calibration.name)};
}

std::optional<jobs::JobWarning> CheckTable(const RefinementRequest& request,
                                           const ops::Calibration& calibration) {
  if (!ComputesScatter(request)) return std::nullopt;
  std::string stale = ops::StaleTableText(calibration, /*computed_scatter=*/true);
  if (stale.empty()) return std::nullopt;
  return jobs::JobWarning{jobs::WarningKind::kCalibration, std::nullopt, std::move(stale)};
}

std::optional<jobs::JobWarning> CheckTable(const AcquisitionRequest& request,
                                           const ops::Calibration& calibration) {
  std::string stale = ops::StaleTableText(calibration);
  if (stale.empty()) {
    return request.refinement ? CheckTable(*request.refinement, calibration) : std::nullopt;
  }
  return jobs::JobWarning{jobs::WarningKind::kCalibration, std::nullopt, std::move(stale)};
}

}  // namespace isocenter::pipeline
