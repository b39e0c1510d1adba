#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/formats/acquisition_input.h"
#include "client/formats/rtk_geometry.h"
#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"
#include "tests/client/test_files.h"

namespace isocenter::formats {
namespace {

using client_test::Bytes;
using client_test::TemporaryDirectory;
using client_test::WriteBytes;
using testing::HasSubstr;

/// Where the ray from the source through a point of RTK's world meets the detector, built from the
/// definition of the parameters in RTK's documentation and not from its matrices: the system at
/// gantry angle 0 has its source on +z and detector axes along x and y, and is turned by the
/// inverse of Rz(-in-plane) Rx(-out-of-plane) Ry(-gantry). Millimetres on the projection.
std::pair<double, double> TraceRay(const RtkProjection& p, Vec3 point) {
  const auto rotate = [](Vec3 v, char axis, double a) -> Vec3 {
    const double c = std::cos(a), s = std::sin(a);
    switch (axis) {
      case 'x':
        return {v.x, c * v.y - s * v.z, s * v.y + c * v.z};
      case 'y':
        return {c * v.x + s * v.z, v.y, -s * v.x + c * v.z};
      default:
        return {c * v.x - s * v.y, s * v.x + c * v.y, v.z};
    }
  };
  const auto to_world = [&](Vec3 v) {
    return rotate(rotate(rotate(v, 'z', p.in_plane_angle), 'x', p.out_of_plane_angle), 'y',
                  p.gantry_angle);
  };
  const Vec3 source = to_world({p.source_offset_x, p.source_offset_y, p.source_to_isocenter});
  const Vec3 detector_origin = to_world(
      {p.projection_offset_x, p.projection_offset_y, p.source_to_isocenter - p.source_to_detector});
  const Vec3 u = to_world({1, 0, 0}), v = to_world({0, 1, 0}), normal = to_world({0, 0, 1});
  const double t = Dot(detector_origin - source, normal) / Dot(point - source, normal);
  const Vec3 hit = source + t * (point - source);
  return {Dot(hit - detector_origin, u), Dot(hit - detector_origin, v)};
}

TEST(RtkGeometry, MatrixAgreesWithATracedRay) {
  const RtkProjection cases[] = {
      {750, 1200},
      {750, 1200, 0.7},
      {750, 1200, 0.7, 0.1, 0.2},
      {750, 1200, -2.1, 0.05, -0.1, 11, -7},
      {750, 1200, 2.5, -0.05, 0.1, 11, -7, 3, -2},
  };
  for (const RtkProjection& p : cases) {
    for (const Vec3 point : {Vec3{0, 0, 0}, Vec3{40, 0, 0}, Vec3{0, 40, 0}, Vec3{-30, 20, 50}}) {
      const Projected projected = RtkMatrix(p).Project(point);
      const auto [u, v] = TraceRay(p, point);
      // Rounding of float64 at distances of about 1000 mm.
      EXPECT_NEAR(projected.u(), u, 1e-9);
      EXPECT_NEAR(projected.v(), v, 1e-9);
    }
  }
}

std::string Geometry(const std::string& body, const char* version = "3") {
  return absl::StrCat(
      "<?xml version=\"1.0\"?>\n<!DOCTYPE RTKGEOMETRY>\n<RTKThreeDCircularGeometry version=\"",
      version, "\">\n", body, "</RTKThreeDCircularGeometry>\n");
}
const char kShared[] =
    "<SourceToIsocenterDistance>750</SourceToIsocenterDistance>"
    "<SourceToDetectorDistance>1200</SourceToDetectorDistance>";

std::string Projections(int views, const std::string& type, const std::string& data) {
  return absl::StrCat("ObjectType = Image\nNDims = 3\nDimSize = 5 4 ", views,
                      "\nElementSpacing = 2 3 1\nOffset = -4 -4.5 0\nElementType = ", type,
                      "\nElementDataFile = LOCAL\n", data);
}

TEST(RtkAcquisition, IdealOrbitIsOurCircleWithRowsUpwards) {
  TemporaryDirectory directory;
  std::string body = kShared;
  std::string data;
  for (int view = 0; view < 3; ++view) {
    absl::StrAppend(&body, "<Projection><GantryAngle>", 30 * view, "</GantryAngle></Projection>");
    for (int i = 0; i < 20; ++i) data += Bytes(view + 0.01f * i);
  }
  WriteBytes(directory / "g.xml", Geometry(body));
  WriteBytes(directory / "p.mha", Projections(3, "MET_FLOAT", data));
  const auto source = OpenAcquisition(directory / "g.xml", directory / "p.mha", 0);
  ASSERT_TRUE(source.ok()) << source.status();
  const Detector detector{.columns = 5, .rows = 4, .pitch_u_mm = 2, .pitch_v_mm = 3};
  const CircularOrbit orbit{.views = 3,
                            .source_to_isocenter_mm = 750,
                            .source_to_detector_mm = 1200,
                            .arc = DegreesToRadians(60)};
  const absl::StatusOr<Trajectory> ours = MakeCircularOrbit(orbit, detector);
  ASSERT_TRUE(ours.ok());
  for (int view = 0; view < 3; ++view) {
    ProjectionMatrix matrix;
    const auto& values = (*source)->header().matrices().matrix(view).value();
    std::copy(values.begin(), values.end(), matrix.m.begin());
    for (const Vec3 point : {Vec3{0, 0, 0}, Vec3{3, 0, 0}, Vec3{0, 3, 0}, Vec3{1, 2, 3}}) {
      const Projected theirs = matrix.Project(point), expected = (*ours)[view].Project(point);
      // RTK's rows grow along the rotation axis, our circle's against it; both are centred.
      EXPECT_NEAR(theirs.u(), expected.u(), 1e-9) << view;
      EXPECT_NEAR(theirs.v(), 3 - expected.v(), 1e-9) << view;
      EXPECT_NEAR(theirs.w, expected.w, 1e-12) << view;
    }
  }
  std::vector<float> frame(20);
  ASSERT_TRUE((*source)->Read(2, std::as_writable_bytes(std::span(frame))).ok());
  EXPECT_EQ(frame[7], 2 + 0.01f * 7);
  EXPECT_EQ((*source)->header().pixel_type(), v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS);
}

TEST(RtkAcquisition, ExplicitMatrixWinsAndCountsStayCounts) {
  TemporaryDirectory directory;
  WriteBytes(directory / "g.xml",
             Geometry(absl::StrCat(kShared,
                                   "<Projection><Matrix>-1000 0 0 0\n 0 -1000 0 0\n 0 0 1 "
                                   "-500</Matrix></Projection>")));
  std::string data;
  for (int i = 0; i < 20; ++i) data += Bytes(static_cast<uint16_t>(3000 * i));
  WriteBytes(directory / "p.mha", Projections(1, "MET_USHORT", data));
  const auto source = OpenAcquisition(directory / "g.xml", directory / "p.mha", 60000);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->header().i0_counts(), 60000);
  // w at the isocentre is -500 and becomes 1; RTK's z is our x. -4 mm is column 0 of 2 mm pitch.
  const auto& m = (*source)->header().matrices().matrix(0).value();
  EXPECT_DOUBLE_EQ(m[1], 2.0 / 2);     // du/dy: RTK's x
  EXPECT_DOUBLE_EQ(m[3], 2.0);         // principal point: 4 mm / 2 mm
  EXPECT_DOUBLE_EQ(m[8], -1.0 / 500);  // towards the source on +x, w shrinks
  std::vector<uint16_t> frame(20);
  ASSERT_TRUE((*source)->Read(0, std::as_writable_bytes(std::span(frame))).ok());
  EXPECT_EQ(frame[19], 57000);
}

std::string Repeated(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

TEST(RtkGeometry, HostileFilesAreRefused) {
  TemporaryDirectory directory;
  const std::string projection = "<Projection><GantryAngle>0</GantryAngle></Projection>";
  const std::pair<std::string, const char*> cases[] = {
      {"", "not XML"},
      {"<a><b></a>", "not XML"},
      {"<a/>", "not an RTK geometry"},
      {Geometry(kShared + projection, "1"), "version 1"},
      {Geometry(kShared), "no <Projection>"},
      {Geometry(projection), "SourceToIsocenterDistance is 0"},
      {Geometry(absl::StrCat(kShared, "<Projection><GantryAngle>x</GantryAngle></Projection>")),
       "GantryAngle"},
      {Geometry(absl::StrCat(kShared, "<Projection><Matrix>1 2 3</Matrix></Projection>")),
       "Matrix"},
      {Geometry(absl::StrCat(kShared, "<RadiusCylindricalDetector>1000</RadiusCylindricalDetector>",
                             projection)),
       "cylindrical"},
      {Geometry(absl::StrCat(kShared, Repeated(projection, 10001))), "more than 10000 projections"},
  };
  for (const auto& [bytes, part] : cases) {
    WriteBytes(directory / "g.xml", bytes);
    const absl::Status status = ReadRtkGeometry(directory / "g.xml").status();
    EXPECT_FALSE(status.ok()) << bytes;
    EXPECT_THAT(std::string(status.message()), HasSubstr(part)) << bytes;
  }
}

TEST(RtkAcquisition, NumbersOfViewsMustAgree) {
  TemporaryDirectory directory;
  WriteBytes(
      directory / "g.xml",
      Geometry(absl::StrCat(kShared, "<Projection><GantryAngle>0</GantryAngle></Projection>")));
  WriteBytes(directory / "p.mha", Projections(2, "MET_FLOAT", std::string(160, '\0')));
  EXPECT_THAT(
      std::string(OpenAcquisition(directory / "g.xml", directory / "p.mha", 0).status().message()),
      HasSubstr("holds 2 projections"));
}

}  // namespace
}  // namespace isocenter::formats
