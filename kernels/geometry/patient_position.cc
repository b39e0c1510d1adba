#include "kernels/geometry/patient_position.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace isocenter {
namespace {

struct Position {
  absl::string_view name;
  Vec3 left, back, head;  // of the patient, in the world, whose y points down
};

/// In the order of PatientPosition.
constexpr std::array<Position, 8> kPositions = {{
    {"HFS", {1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {"HFP", {-1, 0, 0}, {0, -1, 0}, {0, 0, 1}},
    {"HFDR", {0, -1, 0}, {1, 0, 0}, {0, 0, 1}},
    {"HFDL", {0, 1, 0}, {-1, 0, 0}, {0, 0, 1}},
    {"FFS", {-1, 0, 0}, {0, 1, 0}, {0, 0, -1}},
    {"FFP", {1, 0, 0}, {0, -1, 0}, {0, 0, -1}},
    {"FFDR", {0, -1, 0}, {-1, 0, 0}, {0, 0, -1}},
    {"FFDL", {0, 1, 0}, {1, 0, 0}, {0, 0, -1}},
}};

const Position& At(PatientPosition position) { return kPositions[static_cast<size_t>(position)]; }

/// -0 would be written as "-0".
Vec3 WithoutMinusZero(Vec3 v) { return {v.x + 0.0, v.y + 0.0, v.z + 0.0}; }

/// With origin and axes where `turn` has them.
template <class Turn>
VolumeGrid Turned(const VolumeGrid& grid, const Turn& turn) {
  VolumeGrid turned = grid;
  turned.origin = turn(grid.origin);
  for (size_t column = 0; column < 3; ++column) {
    const auto& d = grid.direction;
    const Vec3 axis = turn({d[column], d[3 + column], d[6 + column]});
    turned.direction[column] = axis.x;
    turned.direction[3 + column] = axis.y;
    turned.direction[6 + column] = axis.z;
  }
  return turned;
}

}  // namespace

absl::string_view Name(PatientPosition position) { return At(position).name; }

absl::StatusOr<PatientPosition> ParsePatientPosition(absl::string_view term) {
  for (const PatientPosition position : kPatientPositions) {
    if (Name(position) == term) return position;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("patient_position is '", term, "'; legal is ",
                   absl::StrJoin(kPositions, ", ", [](std::string* out, const Position& position) {
                     absl::StrAppend(out, position.name);
                   })));
}

Vec3 WorldToPatient(PatientPosition position, Vec3 world) {
  const auto& [name, left, back, head] = At(position);
  return WithoutMinusZero({Dot(left, world), Dot(back, world), Dot(head, world)});
}

Vec3 PatientToWorld(PatientPosition position, Vec3 patient) {
  const auto& [name, left, back, head] = At(position);
  return WithoutMinusZero(patient.x * left + patient.y * back + patient.z * head);
}

ProjectionMatrix MatrixForWorld(PatientPosition position, const ProjectionMatrix& for_patient) {
  ProjectionMatrix turned = for_patient;
  for (size_t row = 0; row < 3; ++row) {
    const auto& m = for_patient.m;
    const Vec3 of_row = PatientToWorld(position, {m[4 * row], m[4 * row + 1], m[4 * row + 2]});
    turned.m[4 * row] = of_row.x;
    turned.m[4 * row + 1] = of_row.y;
    turned.m[4 * row + 2] = of_row.z;
  }
  return turned;
}

VolumeGrid PatientGrid(const VolumeGrid& grid, PatientPosition position) {
  return Turned(grid, [position](Vec3 world) { return WorldToPatient(position, world); });
}

VolumeGrid WorldGrid(const VolumeGrid& of_patient, PatientPosition position) {
  return Turned(of_patient, [position](Vec3 patient) { return PatientToWorld(position, patient); });
}

}  // namespace isocenter
