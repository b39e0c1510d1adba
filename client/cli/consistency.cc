// isocenter consistency: whether the frames of a scan agree with each other under its matrices.
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "client/cli/calibrate/corrected_scan.h"
#include "client/cli/calibrate/sweep_source.h"
#include "client/cli/commands.h"
#include "client/cli/output/json_output.h"
#include "client/cli/output/warnings.h"
#include "client/formats/other_matrices.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/consistency/scan_consistency.h"
#include "kernels/recon/completeness/opposite_rays.h"
#include "proto/wire/plausible.h"

namespace isocenter::cli {
namespace {

using calibrate::Consistency;

struct Options {
  std::string scan, matrices, calibration;
  JsonOutput json;
};

// Of all frames together, against their matrices: what the method knows well.
constexpr double kMostCommonShiftPx = 0.2;

/// What a scan's frames say of each other on planes, and along opposite rays.
struct Findings {
  bool has_lines = false;             // the frames are line integrals
  std::vector<std::string> matrices;  // what is implausible of them, whatever the frames show
  Consistency planes;
  recon::OppositeRaysResult rays;
};

/// Opposite rays of frames as they are added.
class Rays {
 public:
  Rays(const SweepSource& source, const Trajectory& trajectory, bool lines)
      : acquisition_{.detector = source.detector(),
                     .pixel_type = lines ? recon::PixelType::kFloat32LineIntegrals
                                         : recon::PixelType::kUint16Counts,
                     .i0_counts = source.i0_counts(),
                     .trajectory = trajectory},
        rays_(acquisition_) {}
  Rays(const Rays&) = delete;
  Rays& operator=(const Rays&) = delete;

  void Add(int frame, std::span<const std::byte> pixels) {
    std::vector<recon::FrameRow> rows;
    for (int v = rays_.first_row(frame); v < rays_.first_row(frame) + rays_.rows(frame); ++v) {
      rows.push_back(recon::RowOf(pixels, v, acquisition_.detector.rows));
    }
    absl::MutexLock lock(&mutex_);
    rays_.Add(frame, rows);
  }
  recon::OppositeRaysResult Judge() const { return rays_.Judge(acquisition_.trajectory); }

 private:
  const recon::Acquisition acquisition_;
  absl::Mutex mutex_;
  recon::OppositeRays rays_;
};

std::vector<std::string> WarningsOf(const Findings& findings) {
  std::vector<std::string> warnings = findings.matrices;
  if (auto misfit = recon::MisfitText(findings.rays, kMostCommonShiftPx)) {
    warnings.push_back(*std::move(misfit));
  }
  const Consistency& result = findings.planes;
  if (!result.not_judged.empty()) return warnings;
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

/// What else than the matrices does this, as far as the frames tell: a shift of single frames, and
/// one that grows, look the same whoever has moved.
constexpr char kCauses[] =
    "any of these does that, and the frames alone do not tell which: matrices that are off or of "
    "another scan, a detector or source that moved, a patient who moved, frames lost or in another "
    "order, corrections that differ from frame to frame";

/// Why the frames' agreement is not known; nothing where it is. Planes see neither reversed frames
/// nor mirrored columns; opposite rays do, and see what planes do as far as air allows.
std::optional<std::string> NotJudged(const Findings& findings) {
  if (findings.planes.off_air) return findings.planes.not_judged;
  std::optional<std::string> order = recon::UncheckedOrderText(findings.rays);
  if (order && !findings.planes.not_judged.empty()) return findings.planes.not_judged;
  return order;
}

/// Of what was judged. Errors: NotPassed for frames that do not agree, and where nothing can be
/// said of them.
absl::Status Verdict(const Findings& findings, const std::vector<std::string>& warnings) {
  if (!warnings.empty() && warnings.size() == findings.matrices.size()) {
    return flags::NotPassed(absl::StrCat("the matrices are implausible: ", warnings.front()));
  }
  if (!warnings.empty()) {
    return flags::NotPassed(absl::StrCat("the frames do not agree with each other: ",
                                         warnings.size(), " of the checks warned; ", kCauses));
  }
  const std::optional<std::string> why = NotJudged(findings);
  if (!why) return absl::OkStatus();
  return flags::NotPassed(absl::StrCat("whether the frames agree was not judged: ", *why));
}

/// With the way out.
std::string WhyNot(const Options& options, const Findings& findings) {
  const Consistency& result = findings.planes;
  if (!result.off_air) return result.not_judged;
  if (findings.has_lines) {
    return absl::StrCat(result.not_judged, "; they are for whoever made line integrals of counts");
  }
  return absl::StrCat(result.not_judged,
                      options.calibration.empty()
                          ? "; --calibration FILE takes them off"
                          : "; is the set of this detector as it is now, and does --air-columns of "
                            "`isocenter calibrate detector` follow the frames' doses?");
}

/// Frames as they are, or corrected.
absl::Status AddFrames(const Options& options, SweepSource& source,
                       calibrate::ScanConsistency& scan, Rays& rays) {
  const auto add_lines = [&](int frame, std::span<const float> lines) {
    scan.AddLines(frame, lines);
    rays.Add(frame, std::as_bytes(lines));
    return absl::OkStatus();
  };
  if (options.calibration.empty() && source.has_lines()) return source.ReadLines(add_lines);
  if (options.calibration.empty()) {
    return source.Read(1, [&](int frame, std::span<const uint16_t> counts) {
      scan.Add(frame, counts);
      rays.Add(frame, std::as_bytes(counts));
      return absl::OkStatus();
    });
  }
  ISO_ASSIGN_OR_RETURN(CorrectedScan corrected,
                       CorrectedScan::Open(options.scan, options.calibration));
  return corrected.Read(add_lines);
}

nlohmann::ordered_json ToJson(const Options& options, const Findings& findings) {
  const Consistency& result = findings.planes;
  const recon::OppositeRaysResult& rays = findings.rays;
  const std::optional<std::string> why_not = NotJudged(findings);
  nlohmann::ordered_json json = {
      {"scan", options.scan},
      {"judged", !why_not},
      {"why_not", result.off_air ? WhyNot(options, findings) : why_not.value_or("")},
      {"warnings", WarningsOf(findings)},
      {"drift_v_mm", result.drift_v_mm},
      {"jump_sigma_px", result.jump_sigma_px},
      {"inconsistency", result.before},
      {"inconsistency_with_shifts", result.after},
      {"pairs", result.pairs},
      {"lines", result.lines},
      {"lines_truncated", result.truncated},
      {"ends_off_air", result.off_air_share}};
  json["opposite_rays"] = {
      {"judged", rays.not_judged.empty()},
      {"why_not", rays.not_judged},
      {"rays", rays.rays},
      {"difference", rays.difference},
      {"difference_by_chance", rays.by_chance},
      {"difference_with_shift", rays.shifted},
      {"arc_factor", rays.arc_factor},
      {"difference_with_arc", rays.arc_factor == 1 ? rays.difference : rays.rescaled},
      {"shift_px", rays.shift_px},
      {"shift_sigma_px", rays.shift_sigma_px}};
  for (const calibrate::FrameShift& shift : result.shifts) {
    json["frames"].push_back({{"u_px", shift.u_px},
                              {"v_px", shift.v_px},
                              {"u_sigma_px", shift.u_sigma_px},
                              {"v_sigma_px", shift.v_sigma_px}});
  }
  return json;
}

std::string Text(const Options& options, const Findings& findings, double seconds) {
  const Consistency& result = findings.planes;
  std::string text = absl::StrFormat(
      "%d pairs of frames, %d planes compared, %d left out: lines that the detector cuts\n"
      "compared in %.2f s\n",
      result.pairs, result.lines, result.truncated, seconds);
  if (!result.not_judged.empty()) {
    absl::StrAppend(&text, "not judged: ", WhyNot(options, findings), "\n");
  } else {
    absl::StrAppendFormat(&text,
                          "frames' jumps along v: sigma %.4f px; drift along the axis: %.3f mm\n",
                          result.jump_sigma_px, result.drift_v_mm);
  }
  const recon::OppositeRaysResult& rays = findings.rays;
  if (!rays.not_judged.empty()) {
    absl::StrAppend(&text, "opposite rays not judged: ", rays.not_judged, "\n");
  } else {
    absl::StrAppendFormat(
        &text,
        "%d opposite rays: all frames lie %+.3f px along the rows (sigma %.3f px) "
        "from where the matrices say\n",
        rays.rays, rays.shift_px, rays.shift_sigma_px);
  }
  return text;
}

absl::Status Check(const Options& options) {
  ISO_RETURN_IF_ERROR(options.json.Check({options.scan, options.matrices, options.calibration}));
  ISO_ASSIGN_OR_RETURN(SweepSource source, SweepSource::OpenAny("scan", options.scan));
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
  Rays rays(source, trajectory, source.has_lines() || !options.calibration.empty());
  ISO_RETURN_IF_ERROR(AddFrames(options, source, *scan, rays));
  ThreadPool pool(UsableCores());
  const auto begin = std::chrono::steady_clock::now();
  const Detector& detector = source.detector();
  Findings findings{
      .has_lines = source.has_lines(),
      .matrices = wire::ImplausibleMatrices(trajectory, detector.pitch_u_mm, detector.pitch_v_mm)};
  if (!options.matrices.empty()) {
    for (std::string& doubt :
         formats::OtherMatricesDoubts(source.trajectory(), trajectory, options.matrices)) {
      findings.matrices.push_back(std::move(doubt));
    }
  }
  ISO_ASSIGN_OR_RETURN(findings.planes, scan->Judge(pool));
  findings.rays = rays.Judge();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::vector<std::string> warnings = WarningsOf(findings);
  PrintWarnings(warnings);
  ISO_RETURN_IF_ERROR(
      options.json.Report(Text(options, findings, seconds), ToJson(options, findings)));
  return Verdict(findings, warnings);
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
      "differ, matrices, detector or patient moved, or frames are lost or corrected unlike each\n"
      "other: the frames do not tell which. Exit code 3: they do not agree, the matrices are\n"
      "implausible, or nothing could be judged. docs/geometry.md says what is seen, and what is "
      "not.");
  command.Add("scan", o.scan, "acquisition of counts or line integrals").Required().Type("SCAN");
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
