// Grids, matrices and detectors: there and back, and what is refused.
#include "proto/wire/geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace isocenter::wire {
namespace {

using ::testing::HasSubstr;

template <class T>
std::string Complaint(const absl::StatusOr<T>& value) {
  EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(value.status().message());
}

constexpr VolumeGrid kTurned{.nx = 3,
                             .ny = 5,
                             .nz = 1,
                             .spacing = {1, 2, 3},
                             .origin = {7, 8, 9},
                             .direction = {0, -1, 0, 1, 0, 0, 0, 0, 1}};

TEST(Grid, RoundTrip) {
  const auto back = GridFromProto(ToProto(kTurned));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(*back, kTurned);
}

TEST(Grid, CenteringRespectsTheDirection) {
  v1::VolumeGrid proto = ToProto(kTurned);
  proto.set_centered(true);
  EXPECT_THAT(Complaint(GridFromProto(proto)),
              HasSubstr("grid.origin is (7, 8, 9) mm; legal is unset when grid.centered is true"));
  proto.clear_origin_x_mm();
  proto.clear_origin_y_mm();
  proto.clear_origin_z_mm();
  const auto grid = GridFromProto(proto);
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_EQ(grid->VoxelToWorld(1, 2, 0), (Vec3{0, 0, 0}));
}

TEST(Grid, EachFieldHasItsRange) {
  v1::VolumeGrid proto = ToProto(kTurned);
  proto.set_ny(4097);
  EXPECT_THAT(Complaint(GridFromProto(proto)), HasSubstr("grid.ny is 4097; legal is 1 to 4096"));
  proto.set_ny(0);
  EXPECT_THAT(Complaint(GridFromProto(proto)), HasSubstr("grid.ny is 0; legal is 1 to 4096"));
  proto = ToProto(kTurned);
  proto.mutable_direction()->RemoveLast();
  EXPECT_THAT(Complaint(GridFromProto(proto)), HasSubstr("grid.direction has 8 values"));
}

TEST(Matrix, RoundTripAndTwelveFiniteValues) {
  ProjectionMatrix matrix;
  for (int i = 0; i < 12; ++i) matrix.m[i] = 0.1 * i;
  v1::ProjectionMatrix proto = ToProto(matrix);
  const auto back = MatrixFromProto(proto);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->m, matrix.m);
  proto.set_value(7, std::numeric_limits<double>::infinity());
  EXPECT_THAT(Complaint(MatrixFromProto(proto)),
              HasSubstr("value 7 is inf; legal is a finite number"));
  proto.add_value(0);
  EXPECT_THAT(Complaint(MatrixFromProto(proto)),
              HasSubstr("the matrix has 13 values; legal is 12"));
}

TEST(DetectorGeometry, RoundTripAndRanges) {
  v1::DetectorGeometry proto =
      ToProto(Detector{.columns = 1, .rows = 8192, .pitch_u_mm = 0.3, .pitch_v_mm = 0.4});
  const auto back = DetectorFromProto(proto);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->columns, 1);
  EXPECT_EQ(back->rows, 8192);
  EXPECT_EQ(back->pitch_u_mm, 0.3);
  EXPECT_EQ(back->pitch_v_mm, 0.4);
  proto.set_rows(8193);
  EXPECT_THAT(Complaint(DetectorFromProto(proto)),
              HasSubstr("detector.rows is 8193; legal is 1 to 8192"));
  // More than an int holds.
  proto.set_columns(4294967295u);
  EXPECT_THAT(Complaint(DetectorFromProto(proto)), HasSubstr("detector.columns is 4294967295"));
}

}  // namespace
}  // namespace isocenter::wire
