#include "server/pipeline/refinement_record.h"

#include "absl/strings/str_cat.h"
#include "kernels/recon/motion/find_motion.h"
#include "server/pipeline/facts.h"

namespace isocenter::pipeline {
namespace {

/// What is known of a refinement before it begins.
jobs::RefinementFacts FactsOf(const recon::RefinementSettings& settings) {
  if (const auto* const second = std::get_if<recon::SecondPassSettings>(&settings)) {
    return {.algorithm = absl::StrCat(
                "second_pass", second->metal ? "_metal" : "", second->bone ? "_bone" : "",
                second->scatter ? "_scatter" : "", second->cone_beam ? "_cone_beam" : "",
                second->motion ? "_motion" : ""),
            .projector = std::string(ops::ProjectorName(recon::kSecondPassProjector)),
            .second_pass = jobs::SecondPassFacts{.metal = second->metal.has_value(),
                                                 .bone = second->bone,
                                                 .scatter = second->scatter,
                                                 .cone_beam = second->cone_beam,
                                                 .motion = second->motion}};
  }
  const auto& iterative = std::get<recon::IterativeSettings>(settings);
  return {.algorithm = std::string(recon::AlgorithmName(iterative.algorithm)),
          .projector = std::string(ops::ProjectorName(iterative.projector))};
}

int IterationsOf(const recon::RefinementSettings& settings) {
  const auto* const iterative = std::get_if<recon::IterativeSettings>(&settings);
  return iterative == nullptr ? 0 : iterative->iterations;
}

}  // namespace

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
  job.refinement.frame_of_reference_uid = stored.frame_of_reference_uid;
  job.refinement.recipe = request.record;
  job.dicom_forms = request.dicom_forms;
  job.grid = source.grid;
  job.progress.frames_total = source.progress.frames_total;
  job.progress.slices_total = source.grid.nz;
  job.progress.iterations_total = IterationsOf(request.settings);
  job.create_time = now;
  return job;
}

absl::Status CheckFrameCount(const std::string& source_id, const RefinementRequest& request,
                             size_t frames) {
  const auto* const second = std::get_if<recon::SecondPassSettings>(&request.settings);
  if (second == nullptr || !second->motion) return absl::OkStatus();
  const absl::Status enough = recon::CheckMotionViews(static_cast<int64_t>(frames));
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

absl::StatusOr<jobs::JobSnapshot> ExistingRefinement(const jobs::JobSnapshot& known,
                                                     const std::string& source_id,
                                                     const RefinementRequest& request) {
  if (jobs::IsRefinement(*known) && known->source_job_ids.front() == source_id &&
      known->protocol == request.protocol &&
      known->refinement.algorithm == FactsOf(request.settings).algorithm) {
    return known;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("request_id is '", request.request_id, "', which belongs to job '", known->id,
                   "' of another request; legal is an id that was never used"));
}

}  // namespace isocenter::pipeline
