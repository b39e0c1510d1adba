#include "server/pipeline/refinement_record.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/units.h"
#include "kernels/geometry/phases/phase_order.h"
#include "kernels/recon/motion/find_motion.h"
#include "kernels/recon/self_calibration/self_calibration.h"
#include "server/pipeline/facts.h"

namespace isocenter::pipeline {
namespace {

/// Null where there are none.
const recon::IterativeSettings* IterationsIn(const recon::RefinementSettings& settings) {
  if (const auto* const gated = std::get_if<recon::GatedSettings>(&settings)) {
    return gated->iterative ? &*gated->iterative : nullptr;
  }
  return std::get_if<recon::IterativeSettings>(&settings);
}

/// What is known of a refinement before it begins.
jobs::RefinementFacts FactsOf(const recon::RefinementSettings& settings) {
  if (const auto* const second = std::get_if<recon::SecondPassSettings>(&settings)) {
    return {.algorithm = absl::StrCat(
                "second_pass", second->metal ? "_metal" : "", second->bone ? "_bone" : "",
                second->scatter ? "_scatter" : "", second->cone_beam ? "_cone_beam" : "",
                second->motion ? "_motion" : "", second->self_calibrate ? "_self_calibrate" : "",
                second->complete_rows ? "_complete_rows" : ""),
            .projector = std::string(ops::ProjectorName(recon::kSecondPassProjector)),
            .second_pass = jobs::SecondPassFacts{.metal = second->metal.has_value(),
                                                 .bone = second->bone,
                                                 .scatter = second->scatter,
                                                 .cone_beam = second->cone_beam,
                                                 .motion = second->motion,
                                                 .self_calibrate = second->self_calibrate,
                                                 .complete_rows = second->complete_rows}};
  }
  const recon::IterativeSettings* const iterative = IterationsIn(settings);
  if (iterative == nullptr) return {.algorithm = "fdk"};  // of one phase
  return {.algorithm = std::string(recon::AlgorithmName(iterative->algorithm)),
          .projector = std::string(ops::ProjectorName(iterative->projector))};
}

int IterationsOf(const recon::RefinementSettings& settings) {
  const recon::IterativeSettings* const iterative = IterationsIn(settings);
  return iterative == nullptr ? 0 : iterative->iterations;
}

/// Seconds from one phase 0 to the next, of frames at equal distances in time; 0: unknown.
double MeanCycle(std::span<const std::optional<float>> phases, double acquisition_seconds) {
  double cycles = 0;
  size_t first = phases.size(), last = 0;
  for (size_t i = 0; i < phases.size(); ++i) {
    if (!phases[i]) continue;  // lost
    if (first == phases.size()) {
      first = i;
    } else {
      const double step = double{*phases[i]} - *phases[last];
      cycles += step < 0 ? step + 1 : step;
    }
    last = i;
  }
  if (cycles <= 0 || acquisition_seconds <= 0) return 0;
  const auto part = static_cast<double>(last - first) / static_cast<double>(phases.size() - 1);
  return acquisition_seconds * part / cycles;
}

std::string ReferenceOf(const jobs::Job& job) {
  const auto& second = job.refinement.second_pass;
  return second ? second->reference_job_id.value_or("") : "";
}

bool IsOfPhase(const jobs::Job& job, const recon::RefinementSettings& settings) {
  const auto* const gated = std::get_if<recon::GatedSettings>(&settings);
  const auto& phase = job.refinement.phase;
  if (gated == nullptr || !phase) return gated == nullptr && !phase;
  return phase->phase == gated->window.centre && phase->width == gated->window.width;
}

/// What is wrong with a volume of the source's frames is not wrong with this one.
bool Mends(const jobs::RefinementFacts& refinement, jobs::WarningKind kind) {
  return kind == jobs::WarningKind::kCutObject && refinement.second_pass &&
         refinement.second_pass->complete_rows;
}

}  // namespace

bool IsOfTheFrames(jobs::WarningKind kind) {
  switch (kind) {
    case jobs::WarningKind::kLateFrame:
    case jobs::WarningKind::kDeviceReplaced:
    case jobs::WarningKind::kStoppedEarly:
    case jobs::WarningKind::kArchiveFull:
    case jobs::WarningKind::kWorklistMismatch:
    case jobs::WarningKind::kWorklistUnavailable:
    case jobs::WarningKind::kReplicaLost:
    case jobs::WarningKind::kPhaseGap:
      return false;
    case jobs::WarningKind::kFrameGap:
    case jobs::WarningKind::kSaturatedDetector:
    case jobs::WarningKind::kDeadDetector:
    case jobs::WarningKind::kDoseDip:
    case jobs::WarningKind::kMatrixJump:
    case jobs::WarningKind::kShortArc:
    case jobs::WarningKind::kCalibration:
    case jobs::WarningKind::kCutObject:
    case jobs::WarningKind::kRepeatedFrames:
    case jobs::WarningKind::kAirLevel:
    case jobs::WarningKind::kMatricesMisfit:
    case jobs::WarningKind::kDoseUnknown:
    case jobs::WarningKind::kUnknownDefects:
    case jobs::WarningKind::kGridUnseen:
    case jobs::WarningKind::kBeyondCalibration:
    case jobs::WarningKind::kImplausibleHeader:
      return true;
  }
  return true;
}

jobs::Job RefinementRecord(const std::string& id, const jobs::Job& source,
                           const jobs::StoredSeries& stored, const RefinementRequest& request,
                           absl::Time now) {
  jobs::Job job;
  job.id = id;
  job.state = jobs::JobState::kReconstructing;
  job.patient_study = source.patient_study;
  job.patient_study.study_instance_uid = stored.study_instance_uid;
  job.order = source.order;
  job.order.is_reported = false;  // not an acquisition
  job.facts = source.facts;
  // The result of iterations has none.
  job.facts.filter_description =
      IterationsOf(request.settings) > 0 ? "" : FilterDescription(request.fdk);
  job.protocol = request.protocol;
  job.station_name = source.station_name;
  job.trace_parent = source.trace_parent;
  job.request_id = request.request_id;
  job.job_class = request.job_class;
  job.deadline = now + request.deadline;
  job.source_job_ids = {source.id};
  job.refinement = FactsOf(request.settings);
  if (!request.reference_job_id.empty()) {
    job.refinement.second_pass->reference_job_id = request.reference_job_id;
  }
  job.refinement.frame_of_reference_uid = stored.frame_of_reference_uid;
  job.refinement.recipe = request.record;
  job.dicom_forms = request.dicom_forms;
  job.grid = source.grid;
  job.progress.frames_total = source.progress.frames_total;
  job.progress.slices_total = source.grid.nz;
  job.progress.iterations_total = IterationsOf(request.settings);
  for (const jobs::JobWarning& warning : source.warnings) {
    // Some room is left for warnings of its own.
    if (!IsOfTheFrames(warning.kind) || Mends(job.refinement, warning.kind) ||
        job.warnings.size() >= jobs::Job::kMostWarnings / 2) {
      continue;
    }
    job.warnings.push_back(warning);
    job.result.warnings.push_back(warning.text);
  }
  job.create_time = now;
  return job;
}

absl::Status CheckFrameCount(const std::string& source_id, const RefinementRequest& request,
                             size_t frames) {
  const auto* const second = std::get_if<recon::SecondPassSettings>(&request.settings);
  if (second == nullptr || !(second->motion || second->self_calibrate)) return absl::OkStatus();
  const auto views = static_cast<int64_t>(frames);
  const absl::Status enough =
      second->motion ? recon::CheckMotionViews(views) : recon::CheckCalibrationViews(views);
  if (enough.ok()) return enough;
  return absl::FailedPreconditionError(absl::StrCat("job '", source_id, "': ", enough.message()));
}

absl::Status CheckRefinable(const jobs::Job& source) {
  const auto refused = [&](absl::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat("job '", source.id, "' ", why));
  };
  if (jobs::IsRefinement(source)) {
    return refused(absl::StrCat("is a refinement itself; refine job '",
                                source.source_job_ids.front(), "', whose frames it used"));
  }
  if (source.pair_role == jobs::PairRole::kSubtraction) {
    return refused("is made of two volumes and has no frames; refine the jobs of its pair");
  }
  if (source.state != jobs::JobState::kCompleted) {
    return refused(absl::StrCat("is ", std::string(jobs::Name(source.state)),
                                "; only a completed job can be refined"));
  }
  return absl::OkStatus();
}

absl::Status CheckGates(const recon::Acquisition& scan, const RefinementRequest& request,
                        jobs::Job& job) {
  const auto* const gated = std::get_if<recon::GatedSettings>(&request.settings);
  if (gated == nullptr) return absl::OkStatus();
  const auto refused = [&](absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat("job '", job.source_job_ids.front(), "': ", why));
  };
  const size_t frames = scan.trajectory.size();
  const bool told = std::ranges::any_of(scan.phases, [](const auto& p) { return p.has_value(); });
  if (!told) {
    return refused(absl::StrCat("0 of ", frames,
                                " frames tell a phase; legal for a volume of a phase is a scan "
                                "whose frames do (Frame.phase)"));
  }
  for (int i = 0; i < request.of_phases; ++i) {
    const absl::StatusOr<recon::Gate> gate = recon::GateOf(
        scan.trajectory, scan.phases,
        {.centre = static_cast<double>(i) / request.of_phases, .width = gated->window.width});
    if (!gate.ok()) return refused(gate.status().message());
  }
  const absl::StatusOr<recon::Gate> gate =
      recon::GateOf(scan.trajectory, scan.phases, gated->window);
  if (!gate.ok()) return refused(gate.status().message());
  job.refinement.phase =
      jobs::PhaseFacts{.phase = gated->window.centre,
                       .width = gated->window.width,
                       .frames = static_cast<int>(gate->chosen.views.size()),
                       .largest_gap_deg = RadiansToDegrees(gate->largest_gap),
                       .cycle_seconds = MeanCycle(scan.phases, job.facts.acquisition_seconds)};
  const auto warn = [&job](std::string text) {
    job.warnings.push_back({jobs::WarningKind::kPhaseGap, std::nullopt, text});
    job.result.warnings.push_back(std::move(text));
  };
  if (auto disorder = PhaseOrderText(scan.phases)) warn(*std::move(disorder));
  if (recon::HasLargeGap(*gate)) {
    warn(
        absl::StrFormat("phase %g: %d of %d frames are in its window, and none of them was taken "
                        "in %.1f degrees of the arc; expected are at most %g: expect streaks",
                        gated->window.centre, job.refinement.phase->frames, frames,
                        job.refinement.phase->largest_gap_deg, recon::kLargeGapDeg));
  }
  return absl::OkStatus();
}

absl::Status AddPhase(const jobs::Job& job, RefinementRequest& request) {
  const auto* const gated = std::get_if<recon::GatedSettings>(&request.settings);
  if (!job.refinement.phase) {
    if (gated == nullptr) return absl::OkStatus();
    return absl::DataLossError("the recipe of a refinement has none, and the job is of no phase");
  }
  const recon::IterativeSettings* const iterative = IterationsIn(request.settings);
  request.settings = recon::GatedSettings{
      .window = {.centre = job.refinement.phase->phase, .width = job.refinement.phase->width},
      .iterative = iterative ? std::optional(*iterative) : std::nullopt};
  return absl::OkStatus();
}

absl::StatusOr<jobs::JobSnapshot> ExistingRefinement(const jobs::JobSnapshot& known,
                                                     const std::string& source_id,
                                                     const RefinementRequest& request) {
  if (jobs::IsRefinement(*known) && known->source_job_ids.front() == source_id &&
      known->protocol == request.protocol &&
      known->refinement.algorithm == FactsOf(request.settings).algorithm &&
      IsOfPhase(*known, request.settings) && ReferenceOf(*known) == request.reference_job_id) {
    return known;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("request_id is '", request.request_id, "', which belongs to job '", known->id,
                   "' of another request; legal is an id that was never used"));
}

}  // namespace isocenter::pipeline
