// Messages of a small, legal acquisition, for tests to spoil.
#pragma once

#include <string>
#include <vector>

#include "isocenter/v1/acquisition.pb.h"
#include "kernels/base/crc32c.h"
#include "tests/server/fakes/test_scan.h"

namespace isocenter::testing {

/// The header of test_scan.h's acquisition: 40 views on a circle, float32, 32^3 voxels.
inline v1::AcquisitionHeader SmallHeader() {
  v1::AcquisitionHeader header;
  v1::PatientStudy& study = *header.mutable_patient_study();
  study.set_patient_name("Doe^Jane");
  study.set_patient_id("P1");
  study.set_accession_number("A1");
  header.set_protocol("fdk");
  header.set_station_name("room-1");
  v1::DetectorGeometry& detector = *header.mutable_detector();
  detector.set_columns(36);
  detector.set_rows(28);
  detector.set_pitch_u_mm(8);
  detector.set_pitch_v_mm(8);
  header.set_pixel_type(v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS);
  header.set_frame_count(40);
  v1::CircularTrajectory& circle = *header.mutable_circular();
  circle.set_source_to_isocenter_mm(750);
  circle.set_source_to_detector_mm(1200);
  circle.set_arc_deg(360. * 39 / 40);
  v1::VolumeGrid& grid = *header.mutable_grid();
  grid.set_nx(32);
  grid.set_ny(32);
  grid.set_nz(32);
  grid.set_spacing_x_mm(4);
  grid.set_spacing_y_mm(4);
  grid.set_spacing_z_mm(4);
  grid.set_centered(true);
  return header;
}

/// Replaces the circle of a header by the matrices of the same circle.
inline void ListMatrices(v1::AcquisitionHeader& header) {
  header.mutable_matrices();
  for (const ProjectionMatrix& matrix : SmallRequest().acquisition.trajectory) {
    header.mutable_matrices()->add_matrix()->mutable_value()->Add(matrix.m.begin(), matrix.m.end());
  }
}

inline v1::AcquireRequest HeaderMessage(const v1::AcquisitionHeader& header) {
  v1::AcquireRequest message;
  *message.mutable_header() = header;
  return message;
}

inline v1::AcquireRequest FrameMessage(int index) {
  static const recon::Acquisition acquisition = SmallRequest().acquisition;
  v1::AcquireRequest message;
  v1::Frame& frame = *message.mutable_frame();
  frame.set_index(index);
  frame.set_pixels(SmallFrame(acquisition, index));
  frame.set_crc32c(Crc32c(std::as_bytes(std::span(frame.pixels()))));
  frame.set_has_checksum(true);
  return message;
}

inline v1::AcquireRequest ResumeMessage(const std::string& job_id) {
  v1::AcquireRequest message;
  message.mutable_resume()->set_job_id(job_id);
  return message;
}

/// As a console that proves which acquisition it sends.
inline v1::AcquireRequest ResumeMessage(const std::string& job_id,
                                        const v1::AcquisitionHeader& header) {
  v1::AcquireRequest message = ResumeMessage(job_id);
  *message.mutable_resume()->mutable_header() = header;
  return message;
}

inline v1::AcquireRequest FinishMessage() {
  v1::AcquireRequest message;
  message.mutable_finish();
  return message;
}

/// Header, `frames` frames, finish.
inline std::vector<v1::AcquireRequest> WholeAcquisition(const v1::AcquisitionHeader& header,
                                                        int frames = 40) {
  std::vector<v1::AcquireRequest> messages = {HeaderMessage(header)};
  for (int i = 0; i < frames; ++i) messages.push_back(FrameMessage(i));
  messages.push_back(FinishMessage());
  return messages;
}

}  // namespace isocenter::testing
