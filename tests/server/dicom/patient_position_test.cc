// Where voxels are in the patient, as both forms of a volume say it, for each way to lie.
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include <array>
#include <cmath>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/dicom/stored_job_fixture.h"

namespace isocenter::dicom {
namespace {

class PatientPositionTest : public StoredJobTest {};

Vec3 Vector(DcmItem& item, const DcmTagKey& tag, unsigned long first = 0) {
  std::array<Float64, 3> v = {NAN, NAN, NAN};
  for (unsigned long i = 0; i < 3; ++i) (void)item.findAndGetFloat64(tag, v[i], first + i, true);
  return {v[0], v[1], v[2]};
}

/// What an object says of one slice.
struct Plane {
  Vec3 position, along_row, along_column;
};
Plane PlaneOf(DcmItem& where_positions_are, DcmItem& where_orientations_are) {
  return {Vector(where_positions_are, DCM_ImagePositionPatient),
          Vector(where_orientations_are, DCM_ImageOrientationPatient),
          Vector(where_orientations_are, DCM_ImageOrientationPatient, 3)};
}

/// Slice k of the series of CT images, and of the multi-frame object.
std::array<Plane, 2> PlanesOf(const std::vector<std::filesystem::path>& files, int k,
                              const std::string& position) {
  DcmFileFormat image, volume;
  EXPECT_TRUE(image.loadFile(files.at(k).c_str()).good());
  EXPECT_TRUE(volume.loadFile(files.back().c_str()).good());
  for (DcmFileFormat* file : {&image, &volume}) {
    OFString stated;
    (void)file->getDataset()->findAndGetOFString(DCM_PatientPosition, stated);
    EXPECT_EQ(stated.c_str(), position);
  }
  DcmItem *shared = nullptr, *frame = nullptr;
  EXPECT_TRUE(volume.getDataset()
                  ->findAndGetSequenceItem(DCM_SharedFunctionalGroupsSequence, shared)
                  .good());
  EXPECT_TRUE(volume.getDataset()
                  ->findAndGetSequenceItem(DCM_PerFrameFunctionalGroupsSequence, frame, k)
                  .good());
  return {PlaneOf(*image.getDataset(), *image.getDataset()), PlaneOf(*frame, *shared)};
}

TEST_F(PatientPositionTest, BothFormsPutTheVoxelsWhereTheyAreInThePatient) {
  // Which sides of the patient the world's x, y (down) and z (where an HFS patient's head is) point
  // to. Source: DICOM PS3.3, C.7.3.1.1.2.
  struct Axes {
    Vec3 x, y, z;
  };
  constexpr Vec3 kLeft{1, 0, 0}, kBack{0, 1, 0}, kHead{0, 0, 1};
  const std::map<std::string, Axes> expected = {
      {"HFS", {kLeft, kBack, kHead}},     {"HFP", {-kLeft, -kBack, kHead}},
      {"HFDR", {kBack, -kLeft, kHead}},   {"HFDL", {-kBack, kLeft, kHead}},
      {"FFS", {-kLeft, kBack, -kHead}},   {"FFP", {kLeft, -kBack, -kHead}},
      {"FFDR", {-kBack, -kLeft, -kHead}}, {"FFDL", {kBack, kLeft, -kHead}}};
  for (const auto& [name, axes] : expected) {
    SCOPED_TRACE(name);
    jobs::Job job = TestJobInBothForms(name, 7, 9, 4);
    job.facts.patient_position = *ParsePatientPosition(name);
    const double c = std::cos(0.3), s = std::sin(0.3);  // tilted about x
    job.grid.direction = {1, 0, 0, 0, c, -s, 0, s, c};
    job.grid.origin = {-101.5, 33.25, 7};
    Store(job);
    const auto files = Files(job);
    ASSERT_EQ(files.size(), 5u);
    for (const int k : {0, 3}) {
      for (const Plane& plane : PlanesOf(files, k, name)) {
        for (const auto [i, j] : {std::array{0, 0}, {6, 0}, {0, 8}, {3, 2}}) {
          const Vec3 world = job.grid.VoxelToWorld(i, j, k);
          const Vec3 there = world.x * axes.x + world.y * axes.y + world.z * axes.z;
          const Vec3 stated =
              plane.position + (0.4 * i) * plane.along_row + (0.5 * j) * plane.along_column;
          // Sixteen characters hold coordinates below 1 m to 1e-10 mm.
          EXPECT_LT(Norm(stated - there), 1e-8);
        }
      }
    }
  }
}

TEST_F(PatientPositionTest, ValidatorFindsNothing) {
  jobs::Job job = TestJobInBothForms("feet-first");
  job.facts.patient_position = PatientPosition::kFfdl;
  Store(job);
  const auto files = Files(job);
  EXPECT_EQ(Validate(files.front()), "CTImage\n");
  EXPECT_THAT(Validate(files.back()), ::testing::Not(::testing::HasSubstr("Error")));
}

}  // namespace
}  // namespace isocenter::dicom
