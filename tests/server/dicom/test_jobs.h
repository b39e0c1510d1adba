// Jobs and volumes that the tests of this room share.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "kernels/base/views.h"
#include "server/jobs/job.h"
#include "tests/server/archive/temporary_directory.h"

namespace isocenter::dicom {

/// What dciodvfy says of codes of ours: schemes that begin with 99 are private.
inline constexpr char kPrivateScheme[] =
    "Warning - Unrecognized defined term <99ISOCENTER> for value 1 of attribute <Coding Scheme "
    "Designator>\n";

inline jobs::Job TestJob(const std::string& id, int nx = 12, int ny = 10, int nz = 5) {
  jobs::Job job;
  job.id = id;
  job.patient_study = {.patient_name = "Yamada^Tarou=山田^太郎=やまだ^たろう",
                       .patient_id = absl::StrCat("PAT-", id),
                       .patient_birth_date = "19700203",
                       .patient_sex = "F",
                       .study_instance_uid = "",
                       .accession_number = "A1234",
                       .study_id = "S7",
                       .study_description = "Head",
                       .referring_physician_name = "House^Gregory",
                       .study_date = "20260102",
                       .study_time = "030405"};
  job.facts = {.tube_voltage_kv = 90,
               .tube_current_ma = 210.5,
               .exposure_mas = 480,
               .dose_area_product_dgycm2 = 312.25,
               .body_part_examined = "HEAD",
               .performing_physician_name = "Weiß^Jürgen",
               .operators_name = "Lopez^Ana",
               .equipment = {.manufacturer = "Arm Works",
                             .model_name = "Rotor 7",
                             .device_serial_number = "RW-0042",
                             .software_versions = "4.1",
                             .institution_name = "General Hospital",
                             .institutional_department_name = "Neuroradiology"},
               .detector_rows = 960,
               .detector_columns = 1240,
               .detector_bits = 16,
               .detector_row_spacing_mm = 0.308,
               .detector_column_spacing_mm = 0.308,
               .primary_scan = jobs::PositionerScan{-98.75, 197.5, 0.8},
               .secondary_scan = jobs::PositionerScan{},
               .source_to_isocenter_mm = 750,
               .source_to_detector_mm = 1200,
               .arc_deg = 197.5,
               .frames = 248,
               .acquisition_seconds = 8.25,
               .filter_description = "shepp-logan 0.85",
               .trajectory_hash = std::string(64, 'a')};
  job.protocol = "fdk";
  job.station_name = "room-1";
  job.grid = CenteredGrid(nx, ny, nz, {0.4, 0.5, 0.7});
  job.create_time = absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, 5), absl::UTCTimeZone());
  return job;
}

/// Values with fractions, of both signs, different in every voxel.
inline std::vector<float> TestVolume(const VolumeGrid& grid) {
  std::vector<float> volume(grid.voxels());
  for (size_t i = 0; i < volume.size(); ++i) {
    volume[i] = static_cast<float>(-1000.0 + 0.37 * static_cast<double>(i % 9973));
  }
  return volume;
}

inline HostView3<const float> View(const std::vector<float>& volume, const VolumeGrid& grid) {
  return {volume.data(), grid.shape()};
}

}  // namespace isocenter::dicom
