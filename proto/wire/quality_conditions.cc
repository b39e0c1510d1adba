#include "proto/wire/quality_conditions.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/calibration.h"
#include "proto/wire/header_numbers.h"
#include "proto/wire/illegal.h"

namespace isocenter::wire {
namespace {

constexpr size_t kLongestText = 256;
constexpr double kMostVoxelMm = 100, kMostKv = 1000;

}  // namespace

absl::Status CheckConditions(const v1::QualityConditions& conditions) {
  const std::pair<const char*, const std::string*> texts[] = {
      {"conditions.frames", &conditions.frames()},
      {"conditions.filter", &conditions.filter()},
      {"conditions.calibration", &conditions.calibration()}};
  for (const auto& [field, text] : texts) {
    if (text->size() <= kLongestText) continue;
    return Illegal(field, absl::StrCat("\"", text->substr(0, 16), "..\" of ", text->size()),
                   absl::StrCat("at most ", kLongestText, " characters"));
  }
  ISO_RETURN_IF_ERROR(CheckUpTo("conditions.voxel_x_mm", conditions.voxel_x_mm(), kMostVoxelMm));
  ISO_RETURN_IF_ERROR(CheckUpTo("conditions.voxel_y_mm", conditions.voxel_y_mm(), kMostVoxelMm));
  ISO_RETURN_IF_ERROR(CheckUpTo("conditions.voxel_z_mm", conditions.voxel_z_mm(), kMostVoxelMm));
  return CheckUpTo("conditions.tube_voltage_kv", conditions.tube_voltage_kv(), kMostKv);
}

quality::Conditions ConditionsFromProto(const v1::QualityConditions& proto) {
  return {.voxel_mm = {proto.voxel_x_mm(), proto.voxel_y_mm(), proto.voxel_z_mm()},
          .frames = proto.frames(),
          .filter = proto.filter(),
          .calibration = proto.calibration(),
          .tube_voltage_kv = proto.tube_voltage_kv(),
          .acquired = proto.has_acquired_time() ? TimeFromProto(proto.acquired_time())
                                                : absl::InfinitePast()};
}

v1::QualityConditions ToProto(const quality::Conditions& conditions) {
  v1::QualityConditions proto;
  proto.set_frames(conditions.frames);
  proto.set_voxel_x_mm(conditions.voxel_mm.x);
  proto.set_voxel_y_mm(conditions.voxel_mm.y);
  proto.set_voxel_z_mm(conditions.voxel_mm.z);
  proto.set_filter(conditions.filter);
  proto.set_calibration(conditions.calibration);
  proto.set_tube_voltage_kv(conditions.tube_voltage_kv);
  if (conditions.acquired > absl::InfinitePast()) {
    SetTime(conditions.acquired, *proto.mutable_acquired_time());
  }
  return proto;
}

}  // namespace isocenter::wire
