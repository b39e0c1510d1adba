#include "server/archive/job_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::archive {
namespace {

using Json = nlohmann::ordered_json;

// One visitor describes the members once, for writing and for reading. Archive is Writer or Reader.
struct Writer {
  Json& json;
  template <class T>
  void operator()(const char* name, const T& value) const {
    json[name] = value;
  }
  // A time without an end is the default of its member, and left out.
  void operator()(const char* name, const absl::Time& value) const {
    if (value == absl::InfinitePast() || value == absl::InfiniteFuture()) return;
    json[name] = absl::ToUnixMicros(value);
  }
};

struct Reader {
  const Json& json;
  template <class T>
  void operator()(const char* name, T& value) const {
    const auto it = json.find(name);
    if (it == json.end()) return;
    if constexpr (std::is_floating_point_v<T>) {
      if (it->is_null()) {  // how JSON writes what is not finite
        value = std::numeric_limits<T>::quiet_NaN();
        return;
      }
    }
    it->get_to(value);
  }
  void operator()(const char* name, absl::Time& value) const {
    const auto it = json.find(name);
    if (it != json.end()) value = absl::FromUnixMicros(it->get<int64_t>());
  }
};

template <class Visitor, class PatientStudy>
requires std::is_same_v<std::remove_const_t<PatientStudy>, jobs::PatientStudy>
void VisitMembers(const Visitor& visit, PatientStudy& p) {
  visit("patient_name", p.patient_name);
  visit("patient_id", p.patient_id);
  visit("patient_birth_date", p.patient_birth_date);
  visit("patient_sex", p.patient_sex);
  visit("study_instance_uid", p.study_instance_uid);
  visit("accession_number", p.accession_number);
  visit("study_id", p.study_id);
  visit("study_description", p.study_description);
  visit("referring_physician_name", p.referring_physician_name);
  visit("study_date", p.study_date);
  visit("study_time", p.study_time);
}

template <class Visitor, class Order>
requires std::is_same_v<std::remove_const_t<Order>, jobs::Order>
void VisitMembers(const Visitor& visit, Order& o) {
  visit("settled", o.settled);
  visit("requested_procedure_id", o.requested_procedure_id);
  visit("requested_procedure_description", o.requested_procedure_description);
  visit("scheduled_step_id", o.scheduled_step_id);
  visit("scheduled_step_description", o.scheduled_step_description);
  visit("modality", o.modality);
  visit("header_patient_id", o.header_patient_id);
  visit("header_accession_number", o.header_accession_number);
  visit("is_reported", o.is_reported);
}

template <class Visitor, class Progress>
requires std::is_same_v<std::remove_const_t<Progress>, jobs::JobProgress>
void VisitMembers(const Visitor& visit, Progress& p) {
  visit("frames_received", p.frames_received);
  visit("frames_backprojected", p.frames_backprojected);
  visit("frames_total", p.frames_total);
  visit("frames_lost", p.frames_lost);
  visit("slices_exported", p.slices_exported);
  visit("slices_total", p.slices_total);
  visit("iterations_done", p.iterations_done);
  visit("iterations_total", p.iterations_total);
  visit("refined_fraction", p.refined_fraction);
}

template <class Visitor, class Timings>
requires std::is_same_v<std::remove_const_t<Timings>, jobs::StageTimings>
void VisitMembers(const Visitor& visit, Timings& t) {
  visit("upload", t.upload);
  visit("download", t.download);
  visit("preprocess", t.preprocess);
  visit("filter", t.filter);
  visit("backproject", t.backproject);
  visit("hounsfield", t.hounsfield);
  visit("export", t.export_);
  visit("acquisition", t.acquisition);
  visit("refine", t.refine);
  visit("total", t.total);
}

template <class Visitor, class Result>
requires std::is_same_v<std::remove_const_t<Result>, jobs::JobResult>
void VisitMembers(const Visitor& visit, Result& r) {
  visit("study_instance_uid", r.study_instance_uid);
  visit("series_instance_uid", r.series_instance_uid);
  visit("frame_of_reference_uid", r.frame_of_reference_uid);
  visit("instance_count", r.instance_count);
  visit("seconds_after_last_frame", r.seconds_after_last_frame);
  visit("seconds_to_stored", r.seconds_to_stored);
  visit("kernel_gups", r.kernel_gups);
  visit("whole_gups", r.whole_gups);
  visit("backend", r.backend);
  visit("warnings", r.warnings);
}

template <class Visitor, class Facts>
requires std::is_same_v<std::remove_const_t<Facts>, jobs::AcquisitionFacts>
void VisitMembers(const Visitor& visit, Facts& f) {
  visit("tube_voltage_kv", f.tube_voltage_kv);
  visit("tube_current_ma", f.tube_current_ma);
  visit("exposure_mas", f.exposure_mas);
  visit("dose_area_product_dgycm2", f.dose_area_product_dgycm2);
  visit("laterality", f.laterality);
  visit("performing_physician_name", f.performing_physician_name);
  visit("operators_name", f.operators_name);
  visit("detector_rows", f.detector_rows);
  visit("detector_columns", f.detector_columns);
  visit("detector_bits", f.detector_bits);
  visit("detector_row_spacing_mm", f.detector_row_spacing_mm);
  visit("detector_column_spacing_mm", f.detector_column_spacing_mm);
  visit("body_part_examined", f.body_part_examined);
  visit("series_description", f.series_description);
  visit("source_to_isocenter_mm", f.source_to_isocenter_mm);
  visit("source_to_detector_mm", f.source_to_detector_mm);
  visit("arc_deg", f.arc_deg);
  visit("frames", f.frames);
  visit("acquisition_seconds", f.acquisition_seconds);
  visit("filter_description", f.filter_description);
  visit("trajectory_hash", f.trajectory_hash);
}

template <class Visitor, class Equipment>
requires std::is_same_v<std::remove_const_t<Equipment>, jobs::Equipment>
void VisitMembers(const Visitor& visit, Equipment& e) {
  visit("manufacturer", e.manufacturer);
  visit("model_name", e.model_name);
  visit("device_serial_number", e.device_serial_number);
  visit("software_versions", e.software_versions);
  visit("institution_name", e.institution_name);
  visit("institutional_department_name", e.institutional_department_name);
}

template <class Visitor, class Scan>
requires std::is_same_v<std::remove_const_t<Scan>, jobs::PositionerScan>
void VisitMembers(const Visitor& visit, Scan& s) {
  visit("start_deg", s.start_deg);
  visit("arc_deg", s.arc_deg);
}

template <class Visitor, class Forms>
requires std::is_same_v<std::remove_const_t<Forms>, jobs::DicomForms>
void VisitMembers(const Visitor& visit, Forms& f) {
  visit("ct_series", f.ct_series);
  visit("xray_3d", f.xray_3d);
}

template <class Visitor, class Refinement>
requires std::is_same_v<std::remove_const_t<Refinement>, jobs::RefinementFacts>
void VisitMembers(const Visitor& visit, Refinement& r) {
  visit("algorithm", r.algorithm);
  visit("projector", r.projector);
  visit("frame_of_reference_uid", r.frame_of_reference_uid);
  visit("recipe", r.recipe);
}

template <class Visitor, class Report>
requires std::is_same_v<std::remove_const_t<Report>, jobs::IterationReport>
void VisitMembers(const Visitor& visit, Report& r) {
  visit("iteration", r.iteration);
  visit("relative_residual", r.relative_residual);
  visit("seconds", r.seconds);
}

template <class Visitor, class Grid>
requires std::is_same_v<std::remove_const_t<Grid>, VolumeGrid>
void VisitMembers(const Visitor& visit, Grid& g) {
  visit("nx", g.nx);
  visit("ny", g.ny);
  visit("nz", g.nz);
  visit("spacing_x", g.spacing.x);
  visit("spacing_y", g.spacing.y);
  visit("spacing_z", g.spacing.z);
  visit("origin_x", g.origin.x);
  visit("origin_y", g.origin.y);
  visit("origin_z", g.origin.z);
  visit("direction", g.direction);
}

template <class Visitor, class Job>
requires std::is_same_v<std::remove_const_t<Job>, jobs::Job>
void VisitMembers(const Visitor& visit, Job& job) {
  visit("id", job.id);
  visit("protocol", job.protocol);
  visit("station_name", job.station_name);
  visit("request_id", job.request_id);
  visit("pair_id", job.pair_id);
  visit("source_job_ids", job.source_job_ids);
  visit("deadline_us", job.deadline);
  visit("create_time_us", job.create_time);
  visit("end_time_us", job.end_time);
}

template <class T>
Json ToJson(const T& object) {
  Json json = Json::object();
  VisitMembers(Writer{json}, object);
  return json;
}

template <class T>
void FromJson(const Json& parent, const char* name, T& object) {
  if (const auto it = parent.find(name); it != parent.end()) VisitMembers(Reader{*it}, object);
}

/// The value, up to `last`, whose name it is.
template <class Enum>
absl::StatusOr<Enum> FromName(const char* what, absl::string_view name, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto value = static_cast<Enum>(i);
    if (jobs::Name(value) == name) return value;
  }
  return absl::DataLossError(absl::StrCat("job record: the ", what, " is '", name, "'"));
}

Json WarningToJson(const jobs::JobWarning& warning) {
  Json json = {{"kind", std::string(jobs::Name(warning.kind))}, {"text", warning.text}};
  if (warning.frame) json["frame"] = *warning.frame;
  return json;
}

Json RefinementToJson(const jobs::RefinementFacts& refinement) {
  Json json = ToJson(refinement);
  json["iterations"] = Json::array();
  for (const jobs::IterationReport& report : refinement.iterations) {
    Json& entry = json["iterations"].emplace_back(ToJson(report));
    if (report.objective) entry["objective"] = *report.objective;
  }
  return json;
}

void RefinementFromJson(const Json& json, jobs::RefinementFacts& refinement) {
  VisitMembers(Reader{json}, refinement);
  for (const Json& entry : json.at("iterations")) {
    jobs::IterationReport& report = refinement.iterations.emplace_back();
    VisitMembers(Reader{entry}, report);
    if (const auto objective = entry.find("objective"); objective != entry.end()) {
      Reader{entry}("objective", report.objective.emplace());
    }
  }
}

void ScanToJson(const char* name, const std::optional<jobs::PositionerScan>& scan, Json& facts) {
  if (!scan) return;
  facts[name] = ToJson(*scan);
  if (scan->increment_deg) facts[name]["increment_deg"] = *scan->increment_deg;
}

void ScanFromJson(const Json& facts, const char* name, std::optional<jobs::PositionerScan>& scan) {
  const auto it = facts.find(name);
  if (it == facts.end()) return;
  VisitMembers(Reader{*it}, scan.emplace());
  if (it->contains("increment_deg")) {
    Reader{*it}("increment_deg", scan->increment_deg.emplace());
  }
}

absl::StatusOr<jobs::JobWarning> WarningFromJson(const Json& json) {
  jobs::JobWarning warning{.text = json.at("text").get<std::string>()};
  ISO_ASSIGN_OR_RETURN(
      warning.kind,
      FromName("kind of a warning", json.at("kind").get<std::string>(), jobs::kLastWarningKind));
  if (const auto frame = json.find("frame"); frame != json.end()) warning.frame = frame->get<int>();
  return warning;
}

}  // namespace

std::string JobToJson(const jobs::Job& job) {
  Json json = ToJson(job);
  json["state"] = std::string(jobs::Name(job.state));
  json["class"] = std::string(jobs::Name(job.job_class));
  json["pair_role"] = std::string(jobs::Name(job.pair_role));
  if (!job.error.ok()) {
    json["error"] = {{"code", job.error.raw_code()}, {"message", std::string(job.error.message())}};
  }
  json["patient_study"] = ToJson(job.patient_study);
  json["order"] = ToJson(job.order);
  json["order"]["cancel_reason"] = std::string(jobs::Name(job.order.cancel_reason));
  Json& facts = json["facts"] = ToJson(job.facts);
  facts["equipment"] = ToJson(job.facts.equipment);
  facts["patient_position"] = std::string(Name(job.facts.patient_position));
  ScanToJson("primary_scan", job.facts.primary_scan, facts);
  ScanToJson("secondary_scan", job.facts.secondary_scan, facts);
  json["dicom_forms"] = ToJson(job.dicom_forms);
  json["grid"] = ToJson(job.grid);
  json["progress"] = ToJson(job.progress);
  json["result"] = ToJson(job.result);
  if (jobs::IsRefinement(job)) json["refinement"] = RefinementToJson(job.refinement);
  json["result"]["timings"] = ToJson(job.result.timings);
  json["warnings"] = Json::array();
  for (const jobs::JobWarning& warning : job.warnings) {
    json["warnings"].push_back(WarningToJson(warning));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<jobs::Job> JobFromJson(absl::string_view text) {
  jobs::Job job;
  try {  // the JSON library reports by exceptions
    const Json json = Json::parse(text.begin(), text.end());
    VisitMembers(Reader{json}, job);
    ISO_ASSIGN_OR_RETURN(job.state, FromName("state", json.at("state").get<std::string>(),
                                             jobs::JobState::kCancelled));
    if (const auto name = json.find("class"); name != json.end()) {
      ISO_ASSIGN_OR_RETURN(job.job_class,
                           FromName("class", name->get<std::string>(), jobs::JobClass::kBatch));
    }
    if (const auto name = json.find("pair_role"); name != json.end()) {
      ISO_ASSIGN_OR_RETURN(job.pair_role, FromName("pair_role", name->get<std::string>(),
                                                   jobs::PairRole::kSubtraction));
    }
    if (const auto error = json.find("error"); error != json.end()) {
      job.error = absl::Status(static_cast<absl::StatusCode>(error->at("code").get<int>()),
                               error->at("message").get<std::string>());
    }
    FromJson(json, "patient_study", job.patient_study);
    FromJson(json, "order", job.order);
    if (const auto order = json.find("order");
        order != json.end() && order->contains("cancel_reason")) {
      ISO_ASSIGN_OR_RETURN(
          job.order.cancel_reason,
          FromName("reason of a cancellation", order->at("cancel_reason").get<std::string>(),
                   jobs::kLastCancelReason));
    }
    FromJson(json, "facts", job.facts);
    if (const auto facts = json.find("facts"); facts != json.end()) {
      FromJson(*facts, "equipment", job.facts.equipment);
      if (const auto position = facts->find("patient_position"); position != facts->end()) {
        ISO_ASSIGN_OR_RETURN(job.facts.patient_position,
                             ParsePatientPosition(position->get<std::string>()));
      }
      ScanFromJson(*facts, "primary_scan", job.facts.primary_scan);
      ScanFromJson(*facts, "secondary_scan", job.facts.secondary_scan);
    }
    FromJson(json, "dicom_forms", job.dicom_forms);
    FromJson(json, "grid", job.grid);
    FromJson(json, "progress", job.progress);
    FromJson(json, "result", job.result);
    if (const auto result = json.find("result"); result != json.end()) {
      FromJson(*result, "timings", job.result.timings);
    }
    if (const auto refinement = json.find("refinement"); refinement != json.end()) {
      RefinementFromJson(*refinement, job.refinement);
    }
    if (const auto warnings = json.find("warnings"); warnings != json.end()) {
      for (const Json& warning : *warnings) {
        ISO_ASSIGN_OR_RETURN(job.warnings.emplace_back(), WarningFromJson(warning));
      }
    }
  } catch (const Json::exception& error) {
    return absl::DataLossError(absl::StrCat("job record: ", error.what()));
  }
  return job;
}

}  // namespace isocenter::archive
