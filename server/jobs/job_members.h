// The members of a job and its parts, described once for all that write or read jobs: a visitor is
// called with the name and the member of each, and with what the page shows of it. The record in
// the archive has all of them, in this order and by these names; the page has those that say so.
// tests/server/rpc holds the wire against this list.
#pragma once

#include <type_traits>

#include "server/jobs/job.h"

namespace isocenter::jobs {

/// What the page shows of a member.
struct Shown {
  int place = 0;               // among the members that are shown, from 1; 0: it is not shown
  bool null_if_empty = false;  // text that is empty and numbers of 0 stand for what is not known
  const char* name = nullptr;  // null: as in the record
};

template <class Object, class Type>
concept Is = std::is_same_v<std::remove_const_t<Object>, Type>;

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<PatientStudy> auto& p) {
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

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<Order> auto& o) {
  visit("settled", o.settled);
  visit("requested_procedure_id", o.requested_procedure_id);
  visit("requested_procedure_description", o.requested_procedure_description);
  visit("scheduled_step_id", o.scheduled_step_id);
  visit("scheduled_step_description", o.scheduled_step_description);
  visit("modality", o.modality);
  visit("header_patient_id", o.header_patient_id);
  visit("header_accession_number", o.header_accession_number);
  visit("is_reported", o.is_reported);
  visit("cancel_reason", o.cancel_reason);
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<JobProgress> auto& p) {
  visit("frames_received", p.frames_received, {.place = 1});
  visit("frames_backprojected", p.frames_backprojected, {.place = 2});
  visit("frames_total", p.frames_total, {.place = 3});
  visit("frames_lost", p.frames_lost, {.place = 4});
  visit("slices_exported", p.slices_exported, {.place = 5});
  visit("slices_total", p.slices_total, {.place = 6});
  visit("iterations_done", p.iterations_done, {.place = 7});
  visit("iterations_total", p.iterations_total, {.place = 8});
  visit("refined_fraction", p.refined_fraction, {.place = 9});
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<StageTimings> auto& t) {
  visit("upload", t.upload, {.place = 1});
  visit("download", t.download, {.place = 2});
  visit("preprocess", t.preprocess, {.place = 3});
  visit("filter", t.filter, {.place = 4});
  visit("backproject", t.backproject, {.place = 5});
  visit("hounsfield", t.hounsfield, {.place = 6});
  visit("export", t.export_, {.place = 7});
  visit("acquisition", t.acquisition, {.place = 8});
  visit("refine", t.refine, {.place = 9});
  visit("total", t.total, {.place = 10});
}

// Refinements and subtractions have no frames of their own, and no speed of receiving them.
template <class Visitor>
void VisitMembers(const Visitor& visit, Is<JobResult> auto& r) {
  visit("study_instance_uid", r.study_instance_uid);
  visit("series_instance_uid", r.series_instance_uid, {.place = 5});
  visit("frame_of_reference_uid", r.frame_of_reference_uid, {.place = 6});
  visit("instance_count", r.instance_count, {.place = 7});
  visit("seconds_after_last_frame", r.seconds_after_last_frame,
        {.place = 3, .null_if_empty = true});
  visit("seconds_to_stored", r.seconds_to_stored, {.place = 4, .null_if_empty = true});
  visit("kernel_gups", r.kernel_gups, {.place = 1, .null_if_empty = true});
  visit("whole_gups", r.whole_gups, {.place = 2, .null_if_empty = true});
  visit("backend", r.backend, {.place = 8});
  visit("warnings", r.warnings);
  visit("timings", r.timings, {.place = 9, .name = "timings_seconds"});
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<Equipment> auto& e) {
  visit("manufacturer", e.manufacturer);
  visit("model_name", e.model_name);
  visit("device_serial_number", e.device_serial_number);
  visit("software_versions", e.software_versions);
  visit("institution_name", e.institution_name);
  visit("institutional_department_name", e.institutional_department_name);
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<PositionerScan> auto& s) {
  visit("start_deg", s.start_deg);
  visit("arc_deg", s.arc_deg);
  visit("increment_deg", s.increment_deg);
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<UsedCalibration> auto& c) {
  visit("name", c.name, {.place = 1});
  visit("crc32c", c.crc32c, {.place = 2});
  visit("outside_validity", c.outside_validity, {.place = 3});
  visit("created", c.created, {.place = 4});
  visit("verified", c.verified, {.place = 5});
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<AcquisitionFacts> auto& f) {
  visit("tube_voltage_kv", f.tube_voltage_kv, {.place = 5, .null_if_empty = true});
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
  visit("i0_counts", f.i0_counts);
  visit("body_part_examined", f.body_part_examined, {.place = 6, .null_if_empty = true});
  visit("series_description", f.series_description, {.place = 7, .null_if_empty = true});
  visit("source_to_isocenter_mm", f.source_to_isocenter_mm, {.place = 3});
  visit("source_to_detector_mm", f.source_to_detector_mm, {.place = 4});
  visit("arc_deg", f.arc_deg, {.place = 2});
  visit("frames", f.frames, {.place = 1});
  visit("acquisition_seconds", f.acquisition_seconds);
  visit("filter_description", f.filter_description, {.place = 8, .null_if_empty = true});
  visit("trajectory_hash", f.trajectory_hash);
  visit("equipment", f.equipment);
  visit("patient_position", f.patient_position);
  visit("primary_scan", f.primary_scan);
  visit("secondary_scan", f.secondary_scan);
  visit("calibration", f.calibration, {.place = 9});
  visit("geometry", f.geometry);
  visit("phase_cycle", f.phase_cycle);
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<DicomForms> auto& f) {
  visit("ct_series", f.ct_series);
  visit("xray_3d", f.xray_3d);
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<IterationReport> auto& r) {
  visit("iteration", r.iteration, {.place = 1});
  visit("relative_residual", r.relative_residual, {.place = 2});
  visit("seconds", r.seconds, {.place = 4});
  visit("objective", r.objective, {.place = 3});
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<SecondPassFacts> auto& s) {
  visit("metal", s.metal, {.place = 1});
  visit("bone", s.bone, {.place = 2});
  visit("scatter", s.scatter, {.place = 3});
  visit("cone_beam", s.cone_beam, {.place = 4});
  visit("motion", s.motion, {.place = 5});
  visit("self_calibrate", s.self_calibrate, {.place = 6});
  visit("reference_job_id", s.reference_job_id, {.place = 7});
  visit("complete_rows", s.complete_rows, {.place = 8});
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<MotionPose> auto& p) {
  visit("shift_x_mm", p.shift_x_mm, {.place = 1});
  visit("shift_y_mm", p.shift_y_mm, {.place = 2});
  visit("shift_z_mm", p.shift_z_mm, {.place = 3});
  visit("turn_x_deg", p.turn_x_deg, {.place = 4});
  visit("turn_y_deg", p.turn_y_deg, {.place = 5});
  visit("turn_z_deg", p.turn_z_deg, {.place = 6});
}

// The page shows how far; poses are for programs.
template <class Visitor>
void VisitMembers(const Visitor& visit, Is<MotionFacts> auto& m) {
  visit("found", m.found, {.place = 1});
  visit("largest_shift_mm", m.largest_shift_mm, {.place = 2});
  visit("largest_turn_deg", m.largest_turn_deg, {.place = 3});
  visit("entropy_before", m.entropy_before, {.place = 4});
  visit("entropy_after", m.entropy_after, {.place = 5});
  visit("poses", m.poses);
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<DetectorShift> auto& s) {
  visit("u_mm", s.u_mm);
  visit("v_mm", s.v_mm);
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<ReferenceFacts> auto& r) {
  visit("taken", r.taken, {.place = 1});
  visit("patient", r.patient, {.place = 2});
  visit("covered", r.covered, {.place = 3});
  visit("similarity_before", r.similarity_before, {.place = 4});
  visit("similarity_after", r.similarity_after, {.place = 5});
  visit("entropy", r.entropy, {.place = 6});
  visit("planes", r.planes, {.place = 7});
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<SelfCalibrationFacts> auto& s) {
  visit("found", s.found, {.place = 1});
  visit("constant", s.constant, {.place = 2});
  visit("smooth", s.smooth, {.place = 3});
  visit("u_mm", s.u_mm, {.place = 4});
  visit("roll_deg", s.roll_deg, {.place = 5});
  visit("smooth_rms_mm", s.smooth_rms_mm, {.place = 6});
  visit("largest_smooth_mm", s.largest_smooth_mm, {.place = 7});
  visit("entropy_before", s.entropy_before, {.place = 8});
  visit("entropy_after", s.entropy_after, {.place = 9});
  visit("planes_before", s.planes_before, {.place = 10});
  visit("planes_after", s.planes_after, {.place = 11});
  visit("not_judged", s.not_judged, {.place = 12});
  visit("moves", s.moves);
  visit("reference", s.reference, {.place = 13});
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<PhaseFacts> auto& p) {
  visit("phase", p.phase, {.place = 1});
  visit("width", p.width, {.place = 2});
  visit("frames", p.frames, {.place = 3});
  visit("largest_gap_deg", p.largest_gap_deg, {.place = 4});
  visit("cycle_seconds", p.cycle_seconds, {.place = 5, .null_if_empty = true});
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<RefinementFacts> auto& r) {
  visit("algorithm", r.algorithm, {.place = 1});
  visit("projector", r.projector, {.place = 2});
  visit("frame_of_reference_uid", r.frame_of_reference_uid);
  visit("recipe", r.recipe);
  visit("second_pass", r.second_pass, {.place = 4});
  visit("iterations", r.iterations, {.place = 3});
  visit("findings", r.findings, {.place = 5});
  visit("motion", r.motion, {.place = 6});
  visit("self_calibration", r.self_calibration, {.place = 7});
  visit("phase", r.phase, {.place = 12});
}

template <class Visitor>
void VisitMembers(const Visitor& visit, Is<JobWarning> auto& w) {
  visit("kind", w.kind, {.place = 1});
  visit("text", w.text, {.place = 3});
  visit("frame", w.frame, {.place = 2, .name = "frame_index"});
}

// The page shows grids in the axes of their patients.
template <class Visitor>
void VisitMembers(const Visitor& visit, Is<VolumeGrid> auto& g) {
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

/// Without what is not stored. The page puts a job together out of its parts and of what follows
/// from them (server/http/job_json.cc).
template <class Visitor>
void VisitMembers(const Visitor& visit, Is<Job> auto& job) {
  visit("id", job.id);
  visit("protocol", job.protocol);
  visit("station_name", job.station_name);
  visit("request_id", job.request_id);
  visit("begun_by", job.begun_by);
  visit("trace_parent", job.trace_parent);
  visit("pair_id", job.pair_id);
  visit("source_job_ids", job.source_job_ids);
  visit("deadline", job.deadline);
  visit("create_time", job.create_time);
  visit("end_time", job.end_time);
  visit("state", job.state);
  visit("class", job.job_class);
  visit("pair_role", job.pair_role);
  visit("error", job.error);
  visit("patient_study", job.patient_study);
  visit("order", job.order);
  visit("facts", job.facts);
  visit("dicom_forms", job.dicom_forms);
  visit("grid", job.grid);
  visit("progress", job.progress);
  visit("result", job.result);
  visit("refinement", job.refinement);
  visit("warnings", job.warnings);
}

/// A visitor that does nothing.
struct NoVisitor {
  void operator()(const char*, const auto&, const Shown& = {}) const {}
};

/// What is described here.
template <class Object>
concept HasMembers = requires(Object& object) {
  VisitMembers(NoVisitor(), object);
};

}  // namespace isocenter::jobs
