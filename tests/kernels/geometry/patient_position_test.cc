#include "kernels/geometry/patient_position.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

namespace isocenter {
namespace {

using ::testing::HasSubstr;

/// DICOM PS3.3, C.7.3.1.1.2 in other words: which side of the patient is down (the world's y), and
/// whether the head is where the head of an HFS patient is (the world's z).
struct Lying {
  Vec3 down, along;  // LPS
};
const std::map<std::string, Lying>& Table() {
  static const auto* const table = new std::map<std::string, Lying>{
      {"HFS", {{0, 1, 0}, {0, 0, 1}}},    {"HFP", {{0, -1, 0}, {0, 0, 1}}},
      {"HFDR", {{-1, 0, 0}, {0, 0, 1}}},  {"HFDL", {{1, 0, 0}, {0, 0, 1}}},
      {"FFS", {{0, 1, 0}, {0, 0, -1}}},   {"FFP", {{0, -1, 0}, {0, 0, -1}}},
      {"FFDR", {{-1, 0, 0}, {0, 0, -1}}}, {"FFDL", {{1, 0, 0}, {0, 0, -1}}}};
  return *table;
}

TEST(PatientPosition, NamesAreReadBackAndOthersRefused) {
  for (const PatientPosition position : kPatientPositions) {
    EXPECT_EQ(*ParsePatientPosition(Name(position)), position);
  }
  EXPECT_EQ(Table().size(), kPatientPositions.size());
  const absl::Status refused = ParsePatientPosition("hfs").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("'hfs'; legal is HFS, HFP, HFDR, HFDL, FFS"));
}

TEST(PatientPosition, TheWorldIsTurnedAsThePatientLies) {
  for (const auto& [name, lying] : Table()) {
    SCOPED_TRACE(name);
    const PatientPosition position = *ParsePatientPosition(name);
    EXPECT_EQ(WorldToPatient(position, {0, 1, 0}), lying.down);
    EXPECT_EQ(WorldToPatient(position, {0, 0, 1}), lying.along);
    // Turned, not mirrored.
    EXPECT_EQ(WorldToPatient(position, {1, 0, 0}), Cross(lying.down, lying.along));
    const Vec3 point{1.25, -3.5, 7};
    EXPECT_EQ(PatientToWorld(position, WorldToPatient(position, point)), point);
  }
}

TEST(PatientPosition, AGridKeepsItsVoxelsWhereTheyAre) {
  VolumeGrid grid = CenteredGrid(4, 5, 6, {1, 2, 3});
  const double c = std::cos(0.3), s = std::sin(0.3);
  grid.direction = {c, -s, 0, s, c, 0, 0, 0, 1};
  grid.origin = {10, -20, 30};
  for (const PatientPosition position : kPatientPositions) {
    SCOPED_TRACE(Name(position));
    const VolumeGrid turned = PatientGrid(grid, position);
    EXPECT_TRUE(ValidateGrid(turned).ok()) << ValidateGrid(turned);
    EXPECT_EQ(turned.shape(), grid.shape());
    const Vec3 there = turned.VoxelToWorld(3, 1, 5);
    const Vec3 expected = WorldToPatient(position, grid.VoxelToWorld(3, 1, 5));
    EXPECT_LT(Norm(there - expected), 1e-12);  // a few roundings of values up to 50
    EXPECT_EQ(WorldGrid(turned, position), grid);
  }
  EXPECT_EQ(PatientGrid(grid, PatientPosition::kHfs), grid);
}

TEST(PatientPosition, NothingIsMinusZero) {
  const Vec3 turned = WorldToPatient(PatientPosition::kFfp, {0, 0, 0});
  EXPECT_FALSE(std::signbit(turned.x) || std::signbit(turned.y) || std::signbit(turned.z));
}

TEST(PatientPosition, AMatrixSeesTheSamePointByEitherOfItsNames) {
  const ProjectionMatrix for_patient{{1, 2, 3, 4, 5, 6, 7, 8, 0.01, 0.02, 0.03, 1}};
  const Vec3 point{3, -5, 11};
  for (const PatientPosition position : kPatientPositions) {
    SCOPED_TRACE(Name(position));
    const Projected direct = for_patient.Project(WorldToPatient(position, point));
    const Projected turned = MatrixForWorld(position, for_patient).Project(point);
    EXPECT_NEAR(turned.uw, direct.uw, 1e-12);
    EXPECT_NEAR(turned.vw, direct.vw, 1e-12);
    EXPECT_NEAR(turned.w, direct.w, 1e-12);
  }
}

}  // namespace
}  // namespace isocenter
