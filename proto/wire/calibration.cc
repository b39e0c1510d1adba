#include "proto/wire/calibration.h"

#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "proto/wire/calibration_file.h"
#include "proto/wire/geometry.h"
#include "proto/wire/illegal.h"
#include "proto/wire/verification.h"

namespace isocenter::wire {
namespace {

static_assert(std::endian::native == std::endian::little, "maps are copied as they are");

/// Gives the bytes' memory back.
std::vector<float> TakeMap(std::string* bytes) {
  std::vector<float> map(bytes->size() / sizeof(float));
  std::memcpy(map.data(), bytes->data(), map.size() * sizeof(float));
  std::string().swap(*bytes);
  return map;
}

absl::StatusOr<ops::DefectMap> DefectsFromProto(const v1::DefectMap& proto,
                                                const Detector& detector) {
  const int64_t pixels = int64_t{detector.rows} * detector.columns;
  ops::DefectMap defects;
  defects.pixels.reserve(proto.pixel_size());
  for (const uint32_t pixel : proto.pixel()) {
    // The wire's unsigned numbers are compared before they become int.
    if (pixel >= pixels) {
      return Illegal("defects.pixel", absl::StrCat(pixel), absl::StrCat("0 to ", pixels - 1));
    }
    defects.pixels.push_back(static_cast<int32_t>(pixel));
  }
  return defects;
}

ops::ScatterKernels ScatterFromProto(const v1::ScatterKernels& proto) {
  ops::ScatterKernels kernels{.groups = {},
                              .mu_water_per_mm = proto.mu_water_per_mm(),
                              .gamma_per_mm = proto.gamma_per_mm(),
                              .thickest_mm = proto.thickest_mm()};
  for (const v1::ScatterKernels::Group& group : proto.group()) {
    kernels.groups.push_back({.from_mm = group.from_mm(),
                              .amplitude = group.amplitude(),
                              .alpha = group.alpha(),
                              .beta = group.beta(),
                              .narrow_sigma_mm = group.narrow_sigma_mm(),
                              .wide_sigma_mm = group.wide_sigma_mm(),
                              .wide_share = group.wide_share()});
  }
  return kernels;
}

ops::BoneTable BoneFromProto(const v1::BoneTable& proto) {
  return {.line_integrals = static_cast<int>(proto.line_integrals()),
          .bones = static_cast<int>(proto.bones()),
          .most_line_integral = proto.most_line_integral(),
          .most_bone_mm = proto.most_bone_mm(),
          .added = {proto.added().begin(), proto.added().end()},
          .from_hu = proto.from_hu(),
          .full_hu = proto.full_hu()};
}

/// The wire's unsigned numbers are compared before they become int.
absl::Status CheckBonePoints(absl::string_view field, uint32_t points) {
  if (points >= 2 && points <= uint32_t{ops::kMostBonePoints}) return absl::OkStatus();
  return Illegal(field, absl::StrCat(points), absl::StrCat("2 to ", ops::kMostBonePoints));
}

/// What is there must say something: an empty part would look as if it had been measured.
absl::Status CheckParts(const v1::CalibrationSet& set) {
  if (set.has_water() && set.water().coefficient_size() == 0) {
    return Illegal("water.coefficient", "a list of 0", "1 to 6");
  }
  if (set.has_hounsfield() && set.hounsfield().point_size() == 0) {
    return Illegal("hounsfield.point", "a list of 0", "2 to 32");
  }
  if (set.has_bone()) {
    ISO_RETURN_IF_ERROR(CheckBonePoints("bone.line_integrals", set.bone().line_integrals()));
    ISO_RETURN_IF_ERROR(CheckBonePoints("bone.bones", set.bone().bones()));
  }
  if (set.has_air_sweep() && set.air_sweep().angle_deg_size() == 0) {
    return Illegal("air_sweep.angle_deg", "a list of 0",
                   absl::StrCat("2 to ", ops::kMostAirAngles));
  }
  if (set.has_air() && (set.air().columns() < uint32_t{ops::kAirTile} ||
                        set.air().columns() > set.detector().columns() / 2)) {
    return Illegal(
        "air.columns", absl::StrCat(set.air().columns()),
        absl::StrCat(ops::kAirTile, " to half of the detector's ", set.detector().columns()));
  }
  return absl::OkStatus();
}

void CorrectionsFromProto(const v1::CalibrationSet& set, ops::Calibration& calibration) {
  for (const v1::Lag::Term& term : set.lag().term()) {
    calibration.lag.push_back({.share = term.share(), .release = term.release()});
  }
  for (const v1::Glare::Term& term : set.glare().term()) {
    calibration.glare.push_back({.share = term.share(), .sigma_mm = term.sigma_mm()});
  }
  calibration.air.columns = static_cast<int>(set.air().columns());
  if (set.has_scatter()) calibration.scatter = ScatterFromProto(set.scatter());
  if (set.has_scatter_model()) {
    calibration.scatter_model = ops::ScatterModel{.scale = set.scatter_model().scale()};
  }
  calibration.water.coefficient = {set.water().coefficient().begin(),
                                   set.water().coefficient().end()};
  calibration.water.hardness = {set.water().hardness().begin(), set.water().hardness().end()};
  calibration.water.thickest_mm = set.water().thickest_mm();
  calibration.mu_water_per_mm = set.water().mu_water_per_mm();
  for (const double angle : set.air_sweep().angle_deg()) {
    calibration.air_sweep.angles.push_back(DegreesToRadians(angle));
  }
  for (const v1::HounsfieldTable::Point& point : set.hounsfield().point()) {
    calibration.hounsfield.points.push_back(
        {.measured_hu = point.measured_hu(), .true_hu = point.true_hu()});
  }
  if (set.hounsfield().has_made_with()) {
    auto& parts = calibration.hounsfield.made_with.emplace();
    for (const v1::CorrectedBy::Part& part : set.hounsfield().made_with().part()) {
      parts.push_back({.part = part.name(), .crc32c = part.crc32c()});
    }
  }
  if (set.has_bone()) calibration.bone = BoneFromProto(set.bone());
}

void SetMap(const std::vector<float>& map, std::string* bytes) {
  bytes->assign(reinterpret_cast<const char*>(map.data()), map.size() * sizeof(float));
}

void SetScatter(const ops::ScatterKernels& kernels, v1::ScatterKernels& proto) {
  proto.set_mu_water_per_mm(kernels.mu_water_per_mm);
  proto.set_gamma_per_mm(kernels.gamma_per_mm);
  proto.set_thickest_mm(kernels.thickest_mm);
  for (const ops::ScatterKernels::Group& group : kernels.groups) {
    v1::ScatterKernels::Group& added = *proto.add_group();
    added.set_from_mm(group.from_mm);
    added.set_amplitude(group.amplitude);
    added.set_alpha(group.alpha);
    added.set_beta(group.beta);
    added.set_narrow_sigma_mm(group.narrow_sigma_mm);
    added.set_wide_sigma_mm(group.wide_sigma_mm);
    added.set_wide_share(group.wide_share);
  }
}

void SetBone(const ops::BoneTable& table, v1::BoneTable& proto) {
  proto.set_line_integrals(static_cast<uint32_t>(table.line_integrals));
  proto.set_bones(static_cast<uint32_t>(table.bones));
  proto.set_most_line_integral(table.most_line_integral);
  proto.set_most_bone_mm(table.most_bone_mm);
  proto.mutable_added()->Assign(table.added.begin(), table.added.end());
  proto.set_from_hu(table.from_hu);
  proto.set_full_hu(table.full_hu);
}

void SetCorrections(const ops::Calibration& calibration, v1::CalibrationSet& set) {
  for (const ops::LagTerm& term : calibration.lag) {
    v1::Lag::Term& added = *set.mutable_lag()->add_term();
    added.set_share(term.share);
    added.set_release(term.release);
  }
  for (const ops::SpreadTerm& term : calibration.glare) {
    v1::Glare::Term& added = *set.mutable_glare()->add_term();
    added.set_share(term.share);
    added.set_sigma_mm(term.sigma_mm);
  }
  if (calibration.air.columns != 0) set.mutable_air()->set_columns(calibration.air.columns);
  if (calibration.scatter) SetScatter(*calibration.scatter, *set.mutable_scatter());
  if (calibration.scatter_model) {
    set.mutable_scatter_model()->set_scale(calibration.scatter_model->scale);
  }
  for (const double coefficient : calibration.water.coefficient) {
    set.mutable_water()->add_coefficient(coefficient);
  }
  if (set.has_water()) {
    set.mutable_water()->set_mu_water_per_mm(calibration.mu_water_per_mm);
    set.mutable_water()->mutable_hardness()->Assign(calibration.water.hardness.begin(),
                                                    calibration.water.hardness.end());
    set.mutable_water()->set_thickest_mm(calibration.water.thickest_mm);
  }
  for (const double angle : calibration.air_sweep.angles) {
    set.mutable_air_sweep()->add_angle_deg(RadiansToDegrees(angle));
  }
  if (set.has_air_sweep()) {
    SetMap(calibration.air_sweep.relative, set.mutable_air_sweep()->mutable_relative());
  }
  for (const ops::HounsfieldTable::Point& point : calibration.hounsfield.points) {
    v1::HounsfieldTable::Point& added = *set.mutable_hounsfield()->add_point();
    added.set_measured_hu(point.measured_hu);
    added.set_true_hu(point.true_hu);
  }
  if (set.has_hounsfield() && calibration.hounsfield.made_with) {
    v1::CorrectedBy& made_with = *set.mutable_hounsfield()->mutable_made_with();
    for (const ops::PartChecksum& part : *calibration.hounsfield.made_with) {
      v1::CorrectedBy::Part& added = *made_with.add_part();
      added.set_name(part.part);
      added.set_crc32c(part.crc32c);
    }
  }
  if (calibration.bone) SetBone(*calibration.bone, *set.mutable_bone());
}

}  // namespace

absl::StatusOr<ops::Calibration> CalibrationFromProto(v1::CalibrationSet set) {
  ISO_RETURN_IF_ERROR(CheckCalibrationLabel(set));
  ISO_RETURN_IF_ERROR(CheckParts(set));
  ISO_RETURN_IF_ERROR(CheckVerifiedParts(set));
  if (set.has_geometry() || set.geometry_frames() != 0) {
    ISO_RETURN_IF_ERROR(GeometryFromProto(set).status());
    const std::vector<std::string> parts = CalibrationParts(set);
    if (parts.size() > 1) {
      return Illegal("geometry", absl::StrCat("beside ", absl::StrJoin(parts, ", ")),
                     "a set of its own");
    }
  }
  set.clear_geometry();
  ops::Calibration calibration;
  calibration.name = set.name();
  ISO_ASSIGN_OR_RETURN(calibration.detector, DetectorFromProto(set.detector()));
  ISO_ASSIGN_OR_RETURN(calibration.defects, DefectsFromProto(set.defects(), calibration.detector));
  set.clear_defects();
  CorrectionsFromProto(set, calibration);
  if (set.has_response()) {
    v1::PixelResponse& response = *set.mutable_response();
    calibration.response = {.offset_counts = TakeMap(response.mutable_offset_counts()),
                            .air_counts = TakeMap(response.mutable_air_counts()),
                            .full_scale_counts = response.full_scale_counts()};
  }
  if (set.has_air_sweep()) {
    calibration.air_sweep.relative = TakeMap(set.mutable_air_sweep()->mutable_relative());
  }
  ISO_RETURN_IF_ERROR(ops::CheckCalibration(calibration));
  return calibration;
}

v1::CalibrationSet ToProto(const ops::Calibration& calibration) {
  v1::CalibrationSet set;
  set.set_name(calibration.name);
  *set.mutable_detector() = ToProto(calibration.detector);
  if (calibration.response) {
    SetMap(calibration.response->offset_counts, set.mutable_response()->mutable_offset_counts());
    SetMap(calibration.response->air_counts, set.mutable_response()->mutable_air_counts());
    set.mutable_response()->set_full_scale_counts(calibration.response->full_scale_counts);
  }
  for (const int32_t pixel : calibration.defects.pixels) {
    set.mutable_defects()->add_pixel(static_cast<uint32_t>(pixel));
  }
  SetCorrections(calibration, set);
  return set;
}

}  // namespace isocenter::wire
