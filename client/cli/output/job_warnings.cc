#include "client/cli/output/job_warnings.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace isocenter::cli {
namespace {

// The operator page (web/src/lib/warnings.ts) tells the same from the others: tests/ops.
constexpr std::array kOfTheVolume = {
    v1::WARNING_KIND_REPEATED_FRAMES,   v1::WARNING_KIND_MATRICES_MISFIT,
    v1::WARNING_KIND_DEAD_DETECTOR,     v1::WARNING_KIND_IMPLAUSIBLE_HEADER,
    v1::WARNING_KIND_AIR_LEVEL,         v1::WARNING_KIND_CUT_OBJECT,
    v1::WARNING_KIND_DOSE_UNKNOWN,      v1::WARNING_KIND_SATURATED_DETECTOR,
    v1::WARNING_KIND_CALIBRATION,       v1::WARNING_KIND_UNKNOWN_DEFECTS,
    v1::WARNING_KIND_BEYOND_CALIBRATION};
constexpr std::array kOfTheCourse = {
    v1::WARNING_KIND_GRID_UNSEEN,       v1::WARNING_KIND_PHASE_GAP,
    v1::WARNING_KIND_SHORT_ARC,         v1::WARNING_KIND_FRAME_GAP,
    v1::WARNING_KIND_STOPPED_EARLY,     v1::WARNING_KIND_MATRIX_JUMP,
    v1::WARNING_KIND_DOSE_DIP,          v1::WARNING_KIND_LATE_FRAME,
    v1::WARNING_KIND_WORKLIST_MISMATCH, v1::WARNING_KIND_WORKLIST_UNAVAILABLE,
    v1::WARNING_KIND_ARCHIVE_FULL,      v1::WARNING_KIND_REPLICA_LOST,
    v1::WARNING_KIND_DEVICE_REPLACED};

auto PlaceOf(v1::WarningKind kind) {
  const auto of_volume = std::ranges::find(kOfTheVolume, kind);
  if (of_volume != kOfTheVolume.end()) return of_volume - kOfTheVolume.begin();
  return std::ssize(kOfTheVolume) + (std::ranges::find(kOfTheCourse, kind) - kOfTheCourse.begin());
}

}  // namespace

std::string KindName(v1::WarningKind kind) {
  if (kind == v1::WARNING_KIND_UNSPECIFIED || !v1::WarningKind_IsValid(kind)) return "unknown";
  return absl::AsciiStrToLower(absl::StripPrefix(v1::WarningKind_Name(kind), "WARNING_KIND_"));
}

std::vector<v1::WarningKind> KindsOf(const v1::Job& job) {
  std::vector<v1::WarningKind> kinds;
  for (const v1::JobWarning& warning : job.warning()) {
    if (std::ranges::find(kinds, warning.kind()) == kinds.end()) kinds.push_back(warning.kind());
  }
  std::ranges::stable_sort(kinds, {}, PlaceOf);
  return kinds;
}

std::vector<v1::WarningKind> DoubtsOf(const v1::Job& job) {
  if (job.state() == v1::JOB_STATE_FAILED || job.state() == v1::JOB_STATE_CANCELLED) return {};
  std::vector<v1::WarningKind> kinds = KindsOf(job);
  std::erase_if(kinds, [](v1::WarningKind kind) {
    return std::ranges::find(kOfTheVolume, kind) == kOfTheVolume.end();
  });
  return kinds;
}

std::string WarningNote(const v1::Job& job) {
  if (job.warning_size() == 0) return "";
  const std::string count =
      job.warning_size() == 1 ? "" : absl::StrCat(" (", job.warning_size(), " warnings)");
  return absl::StrCat(DoubtsOf(job).empty() ? "" : "may be wrong: ",
                      absl::StrReplaceAll(KindName(KindsOf(job).front()), {{"_", " "}}), count);
}

}  // namespace isocenter::cli
