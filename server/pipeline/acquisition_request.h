// What a console asks for, after translation from the wire.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "kernels/recon/plan.h"
#include "server/jobs/job.h"

namespace isocenter::pipeline {

/// "auto": a cube that holds the field of view.
struct AutoGridSize {
  int size = 256;  // voxels per axis
};

/// Everything that is known before the first frame. The trajectory is normalised.
struct AcquisitionRequest {
  jobs::PatientStudy patient_study;
  double tube_voltage_kv = 0;
  std::string body_part_examined, series_description;
  std::string protocol, station_name, request_id;
  recon::Acquisition acquisition;
  recon::FdkSettings settings;
  std::variant<AutoGridSize, VolumeGrid> grid;
};

/// One frame as it arrives; the memory belongs to the caller.
struct Frame {
  uint32_t index = 0;
  std::span<const std::byte> pixels;  // [v][u], little-endian
  std::optional<uint32_t> crc32c;
  std::optional<ProjectionMatrix> measured_matrix;  // any scale
};

/// Bytes of one frame's pixels.
inline int64_t FrameBytes(const recon::Acquisition& acquisition) {
  return int64_t{acquisition.detector.columns} * acquisition.detector.rows *
         recon::PixelBytes(acquisition.pixel_type);
}

}  // namespace isocenter::pipeline
