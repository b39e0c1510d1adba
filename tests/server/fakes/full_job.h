// A job of which nothing is left out.
#pragma once

#include <optional>

#include "absl/time/time.h"
#include "server/jobs/job.h"

namespace isocenter::testing {

/// Every member differs from its default and from every other member.
inline jobs::Job FullJob() {
  jobs::Job job;
  job.id = "20260102T030405-00c0ffee";
  job.state = jobs::JobState::kFailed;
  job.error = absl::ResourceExhaustedError("disk \"full\"\n");
  job.patient_study = {"山田^太郎", "PID",  "19700101", "M",        "1.2.3", "ACC",
                       "STUDY",     "Head", "House^G",  "20260102", "030405"};
  job.order = {true, "RP-1", "Head run", "SPS-2", "Rotation", "XA", "PID-H", "ACC-H", true};
  job.order.cancel_reason = jobs::CancelReason::kPatientCondition;
  job.facts = {
      .tube_voltage_kv = 90.5,
      .tube_current_ma = 21,
      .exposure_mas = 22.5,
      .dose_area_product_dgycm2 = 23.5,
      .body_part_examined = "HEAD",
      .patient_position = PatientPosition::kFfdr,
      .laterality = "L",
      .series_description = "Series",
      .performing_physician_name = "House^G",
      .operators_name = "Tech^N",
      .equipment = {"Maker", "Arm", "SN-3", "7.1", "Clinic", "Angio"},
      .detector_rows = 480,
      .detector_columns = 620,
      .detector_bits = 14,
      .detector_row_spacing_mm = 0.616,
      .detector_column_spacing_mm = 0.617,
      .primary_scan = jobs::PositionerScan{-100, 200, 0.4},
      .secondary_scan = jobs::PositionerScan{1, 2, std::nullopt},
      .source_to_isocenter_mm = 750.25,
      .source_to_detector_mm = 1200.5,
      .arc_deg = 197.1,
      .frames = 494,
      .acquisition_seconds = 8.25,
      .filter_description = "hann 0.85",
      .trajectory_hash = "abcdef",
      .calibration = jobs::UsedCalibration{.name = "room-1_90kV",
                                           .crc32c = 0xC0FFEE,
                                           .outside_validity = true,
                                           .created = absl::FromUnixMicros(1767225600123456),
                                           .verified = true}};
  job.dicom_forms = {.ct_series = false, .xray_3d = true};
  job.protocol = "fdk";
  job.station_name = "room-1";
  job.request_id = "request-7";
  job.begun_by = "token room 1";
  job.trace_parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  job.grid = {.nx = 3, .ny = 4, .nz = 5, .spacing = {0.1, 0.2, 0.3}, .origin = {-1, -2.5, 1.0 / 3}};
  job.grid.direction = {0, -1, 0, 1, 0, 0, 0, 0, 1};
  job.progress = {1, 2, 3, 4, 5, 6, 7, 8, 0.125};
  job.job_class = jobs::JobClass::kBatch;
  job.deadline = absl::FromUnixMicros(1767323085654321);
  job.pair_id = "pair-8";
  job.pair_role = jobs::PairRole::kFill;
  job.source_job_ids = {"source-9"};
  job.refinement = {.algorithm = "os-sart",
                    .projector = "joseph",
                    .frame_of_reference_uid = "1.5",
                    .recipe = "name: \"refine\"",
                    .iterations = {{1, 0.75, 12.5, 3.25}, {2, 0.625, std::nullopt, 4.25}}};
  job.warnings = {{jobs::WarningKind::kDoseDip, 17, "the dose \"dips\""},
                  {jobs::WarningKind::kShortArc, std::nullopt, "the arc is short"}};
  job.result.study_instance_uid = "1.2";
  job.result.series_instance_uid = "1.3";
  job.result.frame_of_reference_uid = "1.4";
  job.result.instance_count = 6;
  job.result.seconds_after_last_frame = 0.1;
  job.result.seconds_to_stored = 0.2;
  job.result.kernel_gups = 4.15;
  job.result.whole_gups = 3.3;
  job.result.timings = {1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5};
  job.result.backend = "cpu";
  job.result.warnings = {"one", "two"};
  job.create_time = absl::FromUnixMicros(1767323045123456);
  job.end_time = job.create_time + absl::Seconds(17);
  return job;
}

}  // namespace isocenter::testing
