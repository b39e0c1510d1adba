// The members of a job and its parts that its record keeps, described once for writing and for
// reading: a visitor is called with the name and the member of each. What a record holds in another
// form (enumerations, lists, what may be missing) is in job_json.cc.
#pragma once

#include <type_traits>

#include "server/jobs/job.h"

namespace isocenter::archive {

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

}  // namespace isocenter::archive
