#include "server/rpc/translation/translate.h"

#include <bit>
#include <span>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/base/crc32c.h"
#include "proto/wire/calibration.h"
#include "proto/wire/geometry.h"
#include "server/rpc/translation/wire_enum.h"

namespace isocenter::rpc {
namespace {

static_assert(std::endian::native == std::endian::little, "previews are sent as they are");

absl::StatusOr<jobs::JobState> StateFromProto(int number) {
  if (const auto state = FromWire<v1::JobState, jobs::JobState>(number)) return *state;
  return absl::InvalidArgumentError(
      absl::StrCat("state is ", number, "; legal is a JobState other than UNSPECIFIED"));
}

uint32_t FilterFingerprint(const v1::ListJobsRequest& request) {
  std::string text;
  for (const int state : request.state()) absl::StrAppend(&text, state, ",");
  // Lengths keep neighbouring fields apart.
  for (const std::string* field :
       {&request.protocol(), &request.accession_number(), &request.station_name()}) {
    absl::StrAppend(&text, field->size(), ":", *field);
  }
  return Crc32c(std::as_bytes(std::span(text)));
}

}  // namespace

google::protobuf::Timestamp TimestampToProto(absl::Time time) {
  google::protobuf::Timestamp proto;
  const int64_t seconds = absl::ToUnixSeconds(time);
  proto.set_seconds(seconds);
  proto.set_nanos(
      static_cast<int>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  return proto;
}

v1::JobState ToProto(jobs::JobState state) { return ToWire<v1::JobState>(state); }
v1::JobClass ToProto(jobs::JobClass job_class) { return ToWire<v1::JobClass>(job_class); }
v1::PairRole ToProto(jobs::PairRole role) { return ToWire<v1::PairRole>(role); }
v1::WarningKind ToProto(jobs::WarningKind kind) { return ToWire<v1::WarningKind>(kind); }

v1::JobWarning WarningToProto(const jobs::JobWarning& warning) {
  v1::JobWarning proto;
  proto.set_kind(ToProto(warning.kind));
  if (warning.frame) proto.set_frame_index(*warning.frame);
  proto.set_text(warning.text);
  return proto;
}

v1::Preview PreviewToProto(const jobs::Job& job) {
  const jobs::Preview& preview = *job.preview;
  v1::Preview proto;
  *proto.mutable_grid() = wire::ToProto(PatientGrid(job.grid, job.facts.patient_position));
  proto.set_frames_backprojected(preview.frames_backprojected);
  for (const jobs::PreviewPlane& plane : preview.planes) {
    v1::PreviewPlane& out = *proto.add_plane();
    out.set_orientation(ToWire<v1::PlaneOrientation>(plane.orientation));
    out.set_columns(plane.columns);
    out.set_rows(plane.rows);
    out.set_column_spacing_mm(plane.column_spacing_mm);
    out.set_row_spacing_mm(plane.row_spacing_mm);
    const std::span<const std::byte> pixels = std::as_bytes(std::span(plane.hounsfield));
    out.set_hounsfield(pixels.data(), pixels.size());
  }
  return proto;
}

v1::IterationReport ReportToProto(const jobs::IterationReport& report) {
  v1::IterationReport proto;
  proto.set_iteration(report.iteration);
  proto.set_relative_residual(report.relative_residual);
  if (report.objective) proto.set_objective(*report.objective);
  proto.set_seconds(report.seconds);
  return proto;
}

v1::JobProgress ProgressToProto(const jobs::Job& job) {
  v1::JobProgress proto;
  proto.set_frames_received(job.progress.frames_received);
  proto.set_frames_backprojected(job.progress.frames_backprojected);
  proto.set_frames_total(job.progress.frames_total);
  proto.set_frames_lost(job.progress.frames_lost);
  proto.set_slices_exported(job.progress.slices_exported);
  proto.set_slices_total(job.progress.slices_total);
  proto.set_iterations_done(job.progress.iterations_done);
  proto.set_iterations_total(job.progress.iterations_total);
  proto.set_refined_fraction(job.progress.refined_fraction);
  proto.set_state(ToProto(job.state));
  return proto;
}

v1::JobResult ResultToProto(const jobs::Job& job) {
  const jobs::JobResult& result = job.result;
  v1::JobResult proto;
  proto.set_job_id(job.id);
  proto.set_study_instance_uid(result.study_instance_uid);
  proto.set_series_instance_uid(result.series_instance_uid);
  proto.set_frame_of_reference_uid(result.frame_of_reference_uid);
  proto.set_instance_count(result.instance_count);
  proto.set_seconds_after_last_frame(result.seconds_after_last_frame);
  proto.set_seconds_to_stored(result.seconds_to_stored);
  proto.set_kernel_gups(result.kernel_gups);
  proto.set_whole_gups(result.whole_gups);
  v1::StageTimings& timings = *proto.mutable_timings();
  timings.set_upload_seconds(result.timings.upload);
  timings.set_download_seconds(result.timings.download);
  timings.set_preprocess_seconds(result.timings.preprocess);
  timings.set_filter_seconds(result.timings.filter);
  timings.set_backproject_seconds(result.timings.backproject);
  timings.set_hounsfield_seconds(result.timings.hounsfield);
  timings.set_export_seconds(result.timings.export_);
  timings.set_acquisition_seconds(result.timings.acquisition);
  timings.set_refine_seconds(result.timings.refine);
  timings.set_total_seconds(result.timings.total);
  *proto.mutable_grid() = wire::ToProto(job.grid);
  proto.set_backend(result.backend);
  for (const std::string& warning : result.warnings) proto.add_warning(warning);
  return proto;
}

v1::ObjectPose PoseToProto(const jobs::MotionPose& pose) {
  v1::ObjectPose proto;
  proto.set_shift_x_mm(pose.shift_x_mm);
  proto.set_shift_y_mm(pose.shift_y_mm);
  proto.set_shift_z_mm(pose.shift_z_mm);
  proto.set_turn_x_deg(pose.turn_x_deg);
  proto.set_turn_y_deg(pose.turn_y_deg);
  proto.set_turn_z_deg(pose.turn_z_deg);
  return proto;
}

v1::ObjectMotion MotionToProto(const jobs::MotionFacts& motion) {
  v1::ObjectMotion proto;
  proto.set_found(motion.found);
  proto.set_largest_shift_mm(motion.largest_shift_mm);
  proto.set_largest_turn_deg(motion.largest_turn_deg);
  proto.set_entropy_before(motion.entropy_before);
  proto.set_entropy_after(motion.entropy_after);
  for (const jobs::MotionPose& pose : motion.poses) *proto.add_pose() = PoseToProto(pose);
  return proto;
}

v1::SelfCalibration SelfCalibrationToProto(const jobs::SelfCalibrationFacts& found) {
  v1::SelfCalibration proto;
  proto.set_found(found.found);
  proto.set_constant(found.constant);
  proto.set_smooth(found.smooth);
  proto.set_u_mm(found.u_mm);
  proto.set_roll_deg(found.roll_deg);
  proto.set_smooth_rms_mm(found.smooth_rms_mm);
  proto.set_largest_smooth_mm(found.largest_smooth_mm);
  proto.set_entropy_before(found.entropy_before);
  proto.set_entropy_after(found.entropy_after);
  proto.set_planes_before(found.planes_before);
  proto.set_planes_after(found.planes_after);
  proto.set_not_judged(found.not_judged);
  for (const jobs::DetectorShift& from : found.moves) {
    v1::DetectorMove& move = *proto.add_move();
    move.set_u_mm(from.u_mm);
    move.set_v_mm(from.v_mm);
  }
  if (const auto& match = found.reference) {
    v1::ReferenceMatch& reference = *proto.mutable_reference();
    reference.set_taken(match->taken);
    *reference.mutable_patient() = PoseToProto(match->patient);
    reference.set_covered(match->covered);
    reference.set_similarity_before(match->similarity_before);
    reference.set_similarity_after(match->similarity_after);
    reference.set_entropy(match->entropy);
    reference.set_planes(match->planes);
  }
  return proto;
}

v1::UsedCalibration ToProto(const jobs::UsedCalibration& calibration) {
  v1::UsedCalibration proto;
  proto.set_name(calibration.name);
  proto.set_crc32c(calibration.crc32c);
  proto.set_outside_validity(calibration.outside_validity);
  *proto.mutable_created() = TimestampToProto(calibration.created);
  proto.set_verified(calibration.verified);
  return proto;
}

jobs::UsedCalibration CalibrationFromProto(const v1::UsedCalibration& proto) {
  return {.name = proto.name(),
          .crc32c = proto.crc32c(),
          .outside_validity = proto.outside_validity(),
          .created = wire::TimeFromProto(proto.created()),
          .verified = proto.verified()};
}

v1::Job ToProto(const jobs::Job& job) {
  v1::Job proto;
  proto.set_job_id(job.id);
  proto.set_state(ToProto(job.state));
  proto.set_error_code(static_cast<int>(job.error.code()));
  proto.set_error_message(std::string(job.error.message()));
  *proto.mutable_progress() = ProgressToProto(job);
  if (job.state == jobs::JobState::kCompleted) *proto.mutable_result() = ResultToProto(job);
  proto.set_protocol(job.protocol);
  proto.set_station_name(job.station_name);
  proto.set_trace_parent(job.trace_parent);
  *proto.mutable_create_time() = TimestampToProto(job.create_time);
  if (jobs::HasEnded(job.state)) *proto.mutable_end_time() = TimestampToProto(job.end_time);
  *proto.mutable_grid() = wire::ToProto(job.grid);
  proto.set_accession_number(job.patient_study.accession_number);
  proto.set_study_instance_uid(job.result.study_instance_uid.empty()
                                   ? job.patient_study.study_instance_uid
                                   : job.result.study_instance_uid);
  for (const jobs::JobWarning& warning : job.warnings) {
    *proto.add_warning() = WarningToProto(warning);
  }
  proto.set_job_class(ToProto(job.job_class));
  proto.set_pair_id(job.pair_id);
  proto.set_pair_role(ToProto(job.pair_role));
  if (job.facts.calibration) *proto.mutable_calibration() = ToProto(*job.facts.calibration);
  if (job.facts.geometry) *proto.mutable_geometry() = ToProto(*job.facts.geometry);
  if (jobs::IsRefinement(job)) proto.set_refines_job_id(job.source_job_ids.front());
  if (const auto& second_pass = job.refinement.second_pass) {
    proto.mutable_second_pass()->set_metal(second_pass->metal);
    proto.mutable_second_pass()->set_bone(second_pass->bone);
    proto.mutable_second_pass()->set_scatter(second_pass->scatter);
    proto.mutable_second_pass()->set_cone_beam(second_pass->cone_beam);
    proto.mutable_second_pass()->set_motion(second_pass->motion);
    proto.mutable_second_pass()->set_self_calibrate(second_pass->self_calibrate);
    proto.mutable_second_pass()->set_complete_rows(second_pass->complete_rows);
    proto.mutable_second_pass()->set_reference_job_id(second_pass->reference_job_id.value_or(""));
  }
  if (job.facts.phase_cycle && !jobs::IsRefinement(job)) {
    proto.set_phase_cycle(ToWire<v1::PhaseCycle>(*job.facts.phase_cycle));
  }
  if (const auto& phase = job.refinement.phase) {
    proto.mutable_phase()->set_phase(phase->phase);
    proto.mutable_phase()->set_width(phase->width);
    proto.mutable_phase()->set_frames(phase->frames);
    proto.mutable_phase()->set_largest_gap_deg(phase->largest_gap_deg);
  }
  for (const jobs::IterationReport& report : job.refinement.iterations) {
    *proto.add_iteration() = ReportToProto(report);
  }
  for (const std::string& finding : job.refinement.findings) proto.add_finding(finding);
  if (job.refinement.motion) *proto.mutable_motion() = MotionToProto(*job.refinement.motion);
  if (const auto& found = job.refinement.self_calibration) {
    *proto.mutable_self_calibration() = SelfCalibrationToProto(*found);
  }
  const bool complete = job.state >= jobs::JobState::kExporting;
  if (!complete && job.predicted_finish != absl::InfiniteFuture()) {
    *proto.mutable_predicted_finish_time() = TimestampToProto(job.predicted_finish);
  }
  if (jobs::AwaitsConsole(job)) {
    *proto.mutable_awaits_console_until_time() = TimestampToProto(job.awaits_console_until);
  }
  return proto;
}

absl::StatusOr<jobs::CancelReason> CancelReasonFromProto(int number) {
  if (const auto reason = FromWire<v1::CancelReason, jobs::CancelReason>(number)) return *reason;
  return absl::InvalidArgumentError(
      absl::StrCat("reason is ", number, "; legal is a CancelReason of this version"));
}

absl::StatusOr<jobs::JobClass> JobClassFromProto(int number) {
  if (number == v1::JOB_CLASS_UNSPECIFIED) return jobs::JobClass::kLive;
  if (const auto job_class = FromWire<v1::JobClass, jobs::JobClass>(number)) return *job_class;
  return absl::InvalidArgumentError(
      absl::StrCat("job_class is ", number, "; legal is a JobClass of this version"));
}

absl::StatusOr<jobs::JobFilter> FilterFromProto(const v1::ListJobsRequest& request) {
  jobs::JobFilter filter{.protocol = request.protocol(),
                         .accession_number = request.accession_number(),
                         .station_name = request.station_name()};
  // Every job of the table is held against these, and each state names a job at most once.
  if (request.state_size() > v1::JobState_ARRAYSIZE) {
    return absl::InvalidArgumentError(absl::StrCat(
        "state has ", request.state_size(), " entries; legal is 0 to ", v1::JobState_ARRAYSIZE));
  }
  for (const int state : request.state()) {
    absl::StatusOr<jobs::JobState> translated = StateFromProto(state);
    if (!translated.ok()) return translated.status();
    filter.states.push_back(*translated);
  }
  return filter;
}

std::string EncodePageToken(const jobs::JobCursor& cursor, const v1::ListJobsRequest& request) {
  return absl::WebSafeBase64Escape(absl::StrCat(
      FilterFingerprint(request), " ", absl::ToUnixNanos(cursor.create_time), " ", cursor.id));
}

absl::StatusOr<jobs::JobCursor> DecodePageToken(const v1::ListJobsRequest& request) {
  std::string text;
  uint32_t fingerprint = 0;
  int64_t nanos = 0;
  std::vector<std::string> parts;
  if (absl::WebSafeBase64Unescape(request.page_token(), &text)) {
    parts = absl::StrSplit(text, absl::MaxSplits(' ', 2));
  }
  if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &fingerprint) ||
      !absl::SimpleAtoi(parts[1], &nanos)) {
    return absl::InvalidArgumentError(
        "page_token is not one; legal is next_page_token of an earlier answer, or empty");
  }
  if (fingerprint != FilterFingerprint(request)) {
    return absl::InvalidArgumentError(
        "page_token belongs to another filter; legal is the filter of the first page");
  }
  return jobs::JobCursor{absl::FromUnixNanos(nanos), parts[2]};
}

}  // namespace isocenter::rpc
