#include "server/dicom/objects/series_text.h"

#include <cmath>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "server/dicom/objects/derivation.h"
#include "server/dicom/objects/text.h"

namespace isocenter::dicom {
namespace {

/// The kinds of a job's warnings, each once.
std::string WarningKinds(const jobs::Job& job) {
  std::set<jobs::WarningKind> kinds;
  for (const jobs::JobWarning& warning : job.warnings) kinds.insert(warning.kind);
  return absl::StrJoin(kinds, ", ", [](std::string* out, jobs::WarningKind kind) {
    absl::StrAppend(out, jobs::Name(kind));
  });
}

/// "cardiac phase 25 %"; of what is unknown "phase 25 %".
std::string PhaseText(const jobs::Job& job) {
  const jobs::PhaseCycle cycle = job.facts.phase_cycle.value_or(jobs::PhaseCycle::kUnknown);
  const std::string whose =
      cycle == jobs::PhaseCycle::kUnknown ? "" : absl::StrCat(jobs::Name(cycle), " ");
  return absl::StrFormat("%sphase %.4g %%", whose, 100 * job.refinement.phase->phase);
}

/// "os_sqs, 6 iterations" or "second pass: metal and bone".
std::string RefinementText(const jobs::Job& job) {
  if (const auto& second = job.refinement.second_pass) {
    std::vector<absl::string_view> against;
    if (second->scatter) against.push_back("scatter");
    if (second->metal) against.push_back("metal");
    if (second->bone) against.push_back("bone");
    if (second->cone_beam) against.push_back("cone beam");
    if (second->motion) against.push_back("motion");
    if (second->self_calibrate) against.push_back("self-calibration");
    if (second->complete_rows) against.push_back("truncation");
    return absl::StrCat("second pass: ", absl::StrJoin(against, " and "));
  }
  if (!Iterates(job)) return job.refinement.algorithm;
  return absl::StrCat(job.refinement.algorithm, ", ", job.progress.iterations_done, " iterations");
}

}  // namespace

std::string SeriesDescription(const jobs::Job& job) {
  if (jobs::IsRefinement(job)) {
    // What tells it from the series that it refines comes first: lists cut the rest off.
    const std::string what = job.refinement.phase
                                 ? absl::StrCat(PhaseText(job), " (", RefinementText(job), ") ")
                                 : absl::StrCat("Refined (", RefinementText(job), ") ");
    return absl::StrCat(what, job.facts.series_description.empty()
                                  ? absl::StrCat("Cone-beam CT ", job.protocol)
                                  : job.facts.series_description);
  }
  if (!job.facts.series_description.empty()) return job.facts.series_description;
  if (job.pair_role == jobs::PairRole::kNone) return absl::StrCat("Cone-beam CT ", job.protocol);
  return absl::StrCat("Cone-beam CT ", jobs::Name(job.pair_role), " ", job.protocol);
}

std::string ImageComments(const jobs::Job& job) {
  std::vector<std::string> parts = {absl::StrCat("job ", job.id)};
  if (job.facts.frames > 0) {
    parts.push_back(absl::StrFormat("%d frames over %.1f degrees", job.facts.frames,
                                    std::abs(job.facts.arc_deg)));
  }
  if (job.progress.frames_lost > 0) {
    parts.push_back(absl::StrCat(job.progress.frames_lost, " frames lost"));
  }
  if (!job.warnings.empty()) parts.push_back(absl::StrCat("warnings: ", WarningKinds(job)));
  if (jobs::IsRefinement(job)) {
    const std::string how =
        !Iterates(job) ? RefinementText(job)
                       : absl::StrCat(job.refinement.algorithm, " with projector ",
                                      job.refinement.projector, ", ", job.progress.iterations_done,
                                      " of ", job.progress.iterations_total, " iterations");
    parts.push_back(
        absl::StrCat("refined from the frames of job ", job.source_job_ids.front(), " by ", how));
    if (const auto& second = job.refinement.second_pass; second && second->reference_job_id) {
      parts.push_back(absl::StrCat("the volume of job ", *second->reference_job_id,
                                   " was held beside the frames"));
    }
    if (const auto& phase = job.refinement.phase) {
      parts.push_back(absl::StrFormat(
          "%s of width %.4g %%, %d frames, largest gap of the arc %.1f degrees", PhaseText(job),
          100 * phase->width, phase->frames, phase->largest_gap_deg));
    }
    if (!job.refinement.iterations.empty()) {
      parts.push_back(absl::StrFormat("relative residual %.4g",
                                      job.refinement.iterations.back().relative_residual));
    }
    for (const std::string& finding : job.refinement.findings) parts.push_back(finding);
  }
  if (!job.facts.filter_description.empty()) {
    parts.push_back(absl::StrCat("filter ", job.facts.filter_description));
  }
  if (const auto& used = job.facts.calibration) {
    parts.push_back(absl::StrFormat("calibration %s, checksum %08x%s%s", used->name, used->crc32c,
                                    used->verified ? ", verified" : "",
                                    used->outside_validity ? ", outside its validity" : ""));
  }
  if (const auto& used = job.facts.geometry) {
    parts.push_back(absl::StrFormat("geometry %s, checksum %08x", used->name, used->crc32c));
  }
  if (job.facts.dose_area_product_dgycm2 > 0) {
    parts.push_back(
        absl::StrFormat("dose area product %.6g dGy*cm2", job.facts.dose_area_product_dgycm2));
  }
  if (!job.facts.trajectory_hash.empty()) {
    parts.push_back(absl::StrCat("trajectory SHA-256 ", job.facts.trajectory_hash));
  }
  if (job.result.kernel_gups > 0) {
    parts.push_back(absl::StrFormat("back-projection %.2f GUPS", job.result.kernel_gups));
  }
  return Text(absl::StrJoin(parts, "; "), 10240);
}

}  // namespace isocenter::dicom
