#include "server/http/job_json.h"

#include <bit>

#include "absl/strings/escaping.h"

namespace isocenter::http {
namespace {

static_assert(std::endian::native == std::endian::little, "previews are sent as they are");

std::string Text(absl::string_view name) { return std::string(name); }

absl::string_view Name(jobs::PlaneOrientation orientation) {
  switch (orientation) {
    case jobs::PlaneOrientation::kAxial:
      return "axial";
    case jobs::PlaneOrientation::kCoronal:
      return "coronal";
    case jobs::PlaneOrientation::kSagittal:
      return "sagittal";
  }
  return "unknown";
}

Json ProgressJson(const jobs::JobProgress& progress) {
  return {{"frames_received", progress.frames_received},
          {"frames_backprojected", progress.frames_backprojected},
          {"frames_total", progress.frames_total},
          {"frames_lost", progress.frames_lost},
          {"slices_exported", progress.slices_exported},
          {"slices_total", progress.slices_total},
          {"iterations_done", progress.iterations_done},
          {"iterations_total", progress.iterations_total},
          {"refined_fraction", progress.refined_fraction}};
}

/// Refinements and subtractions have no frames of their own, and no speed of receiving them.
Json MeasuredJson(double value) { return value > 0 ? Json(value) : Json(nullptr); }

Json ResultJson(const jobs::JobResult& result) {
  const jobs::StageTimings& timings = result.timings;
  return {{"kernel_gups", MeasuredJson(result.kernel_gups)},
          {"whole_gups", MeasuredJson(result.whole_gups)},
          {"seconds_after_last_frame", MeasuredJson(result.seconds_after_last_frame)},
          {"seconds_to_stored", MeasuredJson(result.seconds_to_stored)},
          {"series_instance_uid", result.series_instance_uid},
          {"frame_of_reference_uid", result.frame_of_reference_uid},
          {"instance_count", result.instance_count},
          {"backend", result.backend},
          {"timings_seconds",
           {{"upload", timings.upload},
            {"download", timings.download},
            {"preprocess", timings.preprocess},
            {"filter", timings.filter},
            {"backproject", timings.backproject},
            {"hounsfield", timings.hounsfield},
            {"export", timings.export_},
            {"acquisition", timings.acquisition},
            {"refine", timings.refine},
            {"total", timings.total}}}};
}

Json RefinementJson(const jobs::RefinementFacts& refinement) {
  Json iterations = Json::array();
  for (const jobs::IterationReport& report : refinement.iterations) {
    iterations.push_back({{"iteration", report.iteration},
                          {"relative_residual", report.relative_residual},
                          {"objective", OptionalJson(report.objective)},
                          {"seconds", report.seconds}});
  }
  return {{"algorithm", refinement.algorithm},
          {"projector", refinement.projector},
          {"iterations", std::move(iterations)}};
}

}  // namespace

Json TimeJson(absl::Time time) {
  if (time == absl::InfinitePast() || time == absl::InfiniteFuture()) return nullptr;
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

Json TextJson(absl::string_view text) {
  if (text.empty()) return nullptr;
  return std::string(text);
}

Json GridJson(const jobs::Job& job) {
  const VolumeGrid grid = PatientGrid(job.grid, job.facts.patient_position);
  return {{"nx", grid.nx},
          {"ny", grid.ny},
          {"nz", grid.nz},
          {"spacing_mm", {grid.spacing.x, grid.spacing.y, grid.spacing.z}},
          {"origin_mm", {grid.origin.x, grid.origin.y, grid.origin.z}},
          {"direction", grid.direction}};
}

Json JobJson(const jobs::Job& job, std::optional<double> frames_per_second) {
  const bool ended = jobs::HasEnded(job.state);
  const bool completed = job.state == jobs::JobState::kCompleted;
  Json error = nullptr;
  if (!job.error.ok()) {
    error = {{"code", CodeName(job.error.code())}, {"message", std::string(job.error.message())}};
  }
  const std::string& study = job.result.study_instance_uid.empty()
                                 ? job.patient_study.study_instance_uid
                                 : job.result.study_instance_uid;
  return {
      {"job_id", job.id},
      {"state", Text(jobs::Name(job.state))},
      {"job_class", Text(jobs::Name(job.job_class))},
      {"protocol", job.protocol},
      {"station_name", TextJson(job.station_name)},
      {"accession_number", TextJson(job.patient_study.accession_number)},
      {"study_instance_uid", TextJson(study)},
      {"pair_id", TextJson(job.pair_id)},
      {"pair_role", Text(jobs::Name(job.pair_role))},
      {"refines_job_id",
       jobs::IsRefinement(job) ? Json(job.source_job_ids.front()) : Json(nullptr)},
      {"source_job_ids", job.source_job_ids},
      {"create_time", TimeJson(job.create_time)},
      {"end_time", ended ? TimeJson(job.end_time) : Json(nullptr)},
      {"deadline", TimeJson(job.deadline)},
      {"predicted_finish_time",
       job.state >= jobs::JobState::kExporting ? Json(nullptr) : TimeJson(job.predicted_finish)},
      {"error", std::move(error)},
      {"progress", ProgressJson(job.progress)},
      {"frames_per_second", OptionalJson(frames_per_second)},
      {"has_preview", job.preview != nullptr},
      {"warning_count", job.warnings.size()},
      {"result", completed ? ResultJson(job.result) : Json(nullptr)}};
}

void AddDetails(const jobs::Job& job, Json& json) {
  const jobs::AcquisitionFacts& facts = job.facts;
  json["grid"] = GridJson(job);
  json["acquisition"] = {
      {"frames", facts.frames},
      {"arc_deg", facts.arc_deg},
      {"source_to_isocenter_mm", facts.source_to_isocenter_mm},
      {"source_to_detector_mm", facts.source_to_detector_mm},
      {"tube_voltage_kv", facts.tube_voltage_kv > 0 ? Json(facts.tube_voltage_kv) : Json(nullptr)},
      {"body_part_examined", TextJson(facts.body_part_examined)},
      {"series_description", TextJson(facts.series_description)},
      {"filter_description", TextJson(facts.filter_description)}};
  json["refinement"] = jobs::IsRefinement(job) ? RefinementJson(job.refinement) : Json(nullptr);
  Json warnings = Json::array();
  for (const jobs::JobWarning& warning : job.warnings) {
    warnings.push_back({{"kind", Text(jobs::Name(warning.kind))},
                        {"frame_index", OptionalJson(warning.frame)},
                        {"text", warning.text}});
  }
  json["warnings"] = std::move(warnings);
  const bool completed = job.state == jobs::JobState::kCompleted;
  // A subtraction is made of stored volumes, without a device.
  json["has_trace"] = completed && job.pair_role != jobs::PairRole::kSubtraction;
  json["has_volume"] = completed;
}

Json PreviewJson(const jobs::Preview& preview) {
  Json planes = Json::array();
  for (const jobs::PreviewPlane& plane : preview.planes) {
    const absl::string_view pixels(reinterpret_cast<const char*>(plane.hounsfield.data()),
                                   plane.hounsfield.size() * sizeof(int16_t));
    planes.push_back({{"orientation", Text(Name(plane.orientation))},
                      {"columns", plane.columns},
                      {"rows", plane.rows},
                      {"column_spacing_mm", plane.column_spacing_mm},
                      {"row_spacing_mm", plane.row_spacing_mm},
                      {"hounsfield_base64", absl::Base64Escape(pixels)}});
  }
  return {{"frames_backprojected", preview.frames_backprojected}, {"planes", std::move(planes)}};
}

}  // namespace isocenter::http
