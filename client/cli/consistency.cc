// isocenter consistency: whether the frames of a scan agree with each other under its matrices.
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/calibrate/corrected_scan.h"
#include "client/cli/calibrate/sweep_source.h"
#include "client/cli/commands.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/warnings.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/consistency/scan_consistency.h"

namespace isocenter::cli {
namespace {

using calibrate::Consistency;

struct Options {
  std::string scan, matrices, calibration;
  JsonOutput json;
};

std::vector<std::string> WarningsOf(const Consistency& result) {
  std::vector<std::string> warnings;
  for (const calibrate::OddFrame& odd : result.odd) {
    warnings.push_back(
        absl::StrFormat("frame %d lies (%+.2f, %+.2f) px (u, v) from where its neighbours lie",
                        odd.frame, odd.u_px, odd.v_px));
  }
  if (result.drifts()) {
    warnings.push_back(absl::StrFormat(
        "frames drift by %.2f mm along the axis over the scan; legal is below %g mm",
        result.drift_v_mm, calibrate::kLeastDriftMm));
  }
  return warnings;
}

/// With the way out.
std::string WhyNot(const Options& options, const Consistency& result) {
  if (!result.off_air) return result.not_judged;
  return absl::StrCat(result.not_judged,
                      options.calibration.empty()
                          ? "; --calibration FILE takes them off"
                          : "; is the set of this detector as it is now, and does --air-columns of "
                            "`isocenter calibrate detector` follow the frames' doses?");
}

/// Frames as they are, or corrected.
absl::Status AddFrames(const Options& options, SweepSource& source,
                       calibrate::ScanConsistency& scan) {
  if (options.calibration.empty()) {
    return source.Read(1, [&](int frame, std::span<const uint16_t> counts) {
      scan.Add(frame, counts);
      return absl::OkStatus();
    });
  }
  ISO_ASSIGN_OR_RETURN(CorrectedScan corrected,
                       CorrectedScan::Open(options.scan, options.calibration));
  return corrected.Read([&](int frame, std::span<const float> lines) {
    scan.AddLines(frame, lines);
    return absl::OkStatus();
  });
}

nlohmann::ordered_json ToJson(const Options& options, const Consistency& result) {
  nlohmann::ordered_json json = {{"scan", options.scan},
                                 {"judged", result.not_judged.empty()},
                                 {"why_not", WhyNot(options, result)},
                                 {"warnings", WarningsOf(result)},
                                 {"drift_v_mm", result.drift_v_mm},
                                 {"jump_sigma_px", result.jump_sigma_px},
                                 {"inconsistency", result.before},
                                 {"inconsistency_with_shifts", result.after},
                                 {"pairs", result.pairs},
                                 {"lines", result.lines},
                                 {"lines_truncated", result.truncated},
                                 {"ends_off_air", result.off_air_share}};
  for (const calibrate::FrameShift& shift : result.shifts) {
    json["frames"].push_back({{"u_px", shift.u_px},
                              {"v_px", shift.v_px},
                              {"u_sigma_px", shift.u_sigma_px},
                              {"v_sigma_px", shift.v_sigma_px}});
  }
  return json;
}

std::string Text(const Options& options, const Consistency& result, double seconds) {
  std::string text = absl::StrFormat(
      "%d pairs of frames, %d planes compared, %d left out: lines that the detector cuts\n"
      "compared in %.2f s\n",
      result.pairs, result.lines, result.truncated, seconds);
  if (!result.not_judged.empty()) {
    absl::StrAppend(&text, "not judged: ", WhyNot(options, result), "\n");
  } else {
    absl::StrAppendFormat(&text,
                          "frames' jumps along v: sigma %.4f px; drift along the axis: %.3f mm\n",
                          result.jump_sigma_px, result.drift_v_mm);
  }
  return text;
}

absl::Status Check(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check({options.scan, options.matrices, options.calibration}));
  ISO_ASSIGN_OR_RETURN(SweepSource source, SweepSource::Open("scan", options.scan));
  Trajectory trajectory = source.trajectory();
  if (!options.matrices.empty()) {
    ISO_ASSIGN_OR_RETURN(trajectory, ReadTrajectoryCsv(options.matrices));
    if (static_cast<int>(trajectory.size()) != source.frames()) {
      return absl::InvalidArgumentError(absl::StrCat("--matrices: ", trajectory.size(),
                                                     " matrices for ", source.frames(), " frames"));
    }
  }
  ISO_ASSIGN_OR_RETURN(
      const std::unique_ptr<calibrate::ScanConsistency> scan,
      calibrate::ScanConsistency::Make(trajectory, source.detector(), source.i0_counts()));
  ISO_RETURN_IF_ERROR(AddFrames(options, source, *scan));
  ThreadPool pool(UsableCores());
  const auto begin = std::chrono::steady_clock::now();
  ISO_ASSIGN_OR_RETURN(const Consistency result, scan->Judge(pool));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (result.not_judged.empty()) PrintWarnings(WarningsOf(result));
  return options.json.Report(Text(options, result, seconds), ToJson(options, result));
}

}  // namespace

void AddConsistencyCommand(flags::Command program) {
  auto options = std::make_shared<Options>();
  Options& o = *options;
  flags::Command command = program.Subcommand(
      "consistency", "Check whether a scan's frames agree with each other under its matrices");
  command.Footer(
      "Examples:\n"
      "  isocenter consistency scan --json consistency.json\n"
      "  isocenter consistency raw --calibration room3.isocal\n"
      "Integrals over planes through two sources follow from each of their frames; where they\n"
      "differ, matrices or the patient moved. docs/geometry.md says what is seen, and what is "
      "not.");
  command.Add("scan", o.scan, "acquisition of counts").Required().Type("SCAN");
  command
      .Add("--matrices", o.matrices,
           "matrices in place of the scan's own (.csv), as `isocenter calibrate geometry` writes "
           "them")
      .Type("FILE");
  command
      .Add("--calibration", o.calibration,
           "set of the detector that took the frames, to correct them with as `isocenter "
           "reconstruct` does")
      .Type("FILE");
  o.json.AddFlag(command);
  command.Does([options] { return Check(*options); });
}

}  // namespace isocenter::cli
