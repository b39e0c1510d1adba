// Under which conditions a phantom was scanned, and which figures a change of them changes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kernels/geometry/vec3.h"
#include "kernels/quality/constancy.h"

namespace isocenter::quality {

/// What is not known is empty, or 0.
struct Conditions {
  std::string phantom, station;
  Vec3 voxel_mm;
  std::string frames;  // what tells frames from others: a scheme, a space and a checksum
  std::string protocol, filter;
  std::string calibration;  // name of the set; kUncorrectedScan: nothing corrected the frames
  double tube_voltage_kv = 0;
  absl::Time acquired = absl::InfinitePast();
};

inline constexpr char kUncorrectedScan[] = "none";

/// A checksum of what identifies frames in `scheme`, e.g. "acquisition".
std::string FramesOf(absl::string_view scheme, absl::string_view identity);
/// `frames` of all volumes that are made of the frames of a service's job.
std::string FramesOfJob(absl::string_view job_id);

/// One condition that is another than the baseline's.
struct ConditionChange {
  enum class What { kStation, kVoxels, kVoltage, kFilter, kProtocol, kCorrected, kSet };
  What what;
  std::string text;  // "the voxels are .., those of the baseline .."
};
/// Those that both tell. Voxels: by more than 1 % along an axis; voltage: by more than 1 kV.
std::vector<ConditionChange> Changes(const Conditions& baseline, const Conditions& now);
/// Names of conditions that one of both does not tell.
std::vector<std::string> Untold(const Conditions& baseline, const Conditions& now);

/// Whether a figure differs for that change alone. Another set of the same detector is a part of
/// what constancy tests test: no figure is beyond comparison for it.
bool DependsOn(absl::string_view figure, ConditionChange::What change);
/// Marks the verdicts on figures that depend on one of the changes as not comparable.
void MarkNotComparable(std::span<const ConditionChange> changes, std::vector<Verdict>& verdicts);

/// How two results are known to be of one scan; empty: they are not. By their frames, or since nine
/// of ten of five and more figures are the same in four digits, as no two scans' are.
std::string WhySameScan(const Conditions& one, std::span<const Measure> of_one,
                        const Conditions& other, std::span<const Measure> of_other);

/// FAILED_PRECONDITION where the scan is the baseline's own, and so would pass whatever the room
/// has become. INVALID_ARGUMENT for another phantom.
absl::Status CheckIsATest(absl::string_view name_of_baseline, const Conditions& baseline,
                          std::span<const Measure> of_baseline, const Conditions& now,
                          std::span<const Measure> measures);

/// Comment on a scan that nothing corrected; empty: it was corrected, or that is not known.
std::string UncorrectedText(const Conditions& conditions);

}  // namespace isocenter::quality
