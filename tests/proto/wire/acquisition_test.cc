// What a header says of geometry and pixels.
#include "proto/wire/acquisition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "kernels/geometry/trajectory.h"
#include "proto/wire/geometry.h"

namespace isocenter::wire {
namespace {

using ::testing::HasSubstr;
using Header = v1::AcquisitionHeader;

constexpr Detector kDetector{.columns = 20, .rows = 10, .pitch_u_mm = 2, .pitch_v_mm = 2};

Header CircularHeader() {
  Header header;
  *header.mutable_detector() = ToProto(kDetector);
  header.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
  header.set_i0_counts(60000);
  header.set_frame_count(40);
  header.mutable_circular()->set_source_to_isocenter_mm(750);
  header.mutable_circular()->set_source_to_detector_mm(1200);
  header.mutable_circular()->set_arc_deg(200);
  return header;
}

/// The same, every matrix listed and scaled.
Header ListedHeader() {
  Header header = CircularHeader();
  const auto acquisition = AcquisitionFromProto(header);
  header.mutable_matrices();
  for (ProjectionMatrix matrix : acquisition->trajectory) {
    for (double& value : matrix.m) value *= 3;
    *header.mutable_matrices()->add_matrix() = ToProto(matrix);
  }
  return header;
}

std::string Complaint(const std::function<void(Header&)>& spoil, Header header) {
  spoil(header);
  const auto acquisition = AcquisitionFromProto(header);
  EXPECT_EQ(acquisition.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(acquisition.status().message());
}

TEST(Acquisition, ListedMatricesAreNormalised) {
  const auto circle = AcquisitionFromProto(CircularHeader());
  ASSERT_TRUE(circle.ok()) << circle.status();
  EXPECT_EQ(circle->detector.columns, 20);
  EXPECT_EQ(circle->i0_counts, 60000);
  const auto listed = AcquisitionFromProto(ListedHeader());
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->trajectory.size(), 40u);
  for (size_t view = 0; view < 40; ++view) {
    for (int i = 0; i < 12; ++i) {
      // Normalised once more: rounded once more.
      EXPECT_NEAR(listed->trajectory[view].m[i], circle->trajectory[view].m[i],
                  1e-12 * (1 + std::abs(circle->trajectory[view].m[i])));
    }
  }
}

TEST(Acquisition, BytesOfAFrameFollowThePixelType) {
  Header header = CircularHeader();
  EXPECT_EQ(CheckedFrameBytes(header).value_or(0), 20 * 10 * 2);
  header.set_pixel_type(v1::PIXEL_TYPE_FLOAT32_LINE_INTEGRALS);
  EXPECT_EQ(CheckedFrameBytes(header).value_or(0), 20 * 10 * 4);
  EXPECT_EQ(AcquisitionFromProto(header)->pixel_type, recon::PixelType::kFloat32LineIntegrals);
}

TEST(Acquisition, EachFieldIsNamed) {
  EXPECT_THAT(Complaint([](Header& h) { h.clear_pixel_type(); }, CircularHeader()),
              HasSubstr("pixel_type is 0; legal is PIXEL_TYPE_UINT16_COUNTS or"));
  EXPECT_THAT(Complaint([](Header& h) { h.mutable_detector()->set_rows(0); }, CircularHeader()),
              HasSubstr("detector.rows is 0; legal is 1 to 8192"));
  EXPECT_THAT(Complaint([](Header& h) { h.set_frame_count(10001); }, CircularHeader()),
              HasSubstr("frame_count is 10001; legal is 1 to 10000"));
  EXPECT_THAT(Complaint([](Header& h) { h.clear_circular(); }, CircularHeader()),
              HasSubstr("trajectory is unset; legal is matrices or circular"));
  EXPECT_THAT(Complaint([](Header& h) { h.set_frame_count(41); }, ListedHeader()),
              HasSubstr("matrices.matrix is a list of 40; legal is one matrix per frame, 41"));
}

TEST(Acquisition, AMatrixIsNamedByItsView) {
  const auto spoil = [](double value) {
    return [value](Header& h) {
      for (double& each : *h.mutable_matrices()->mutable_matrix(3)->mutable_value()) each = value;
    };
  };
  EXPECT_THAT(Complaint(spoil(std::numeric_limits<double>::quiet_NaN()), ListedHeader()),
              HasSubstr("matrices.matrix[3]: value 0 is nan; legal is a finite number"));
  EXPECT_THAT(Complaint(spoil(1), ListedHeader()), HasSubstr("matrices.matrix[3]: "));
  Header header = ListedHeader();
  spoil(std::numeric_limits<double>::quiet_NaN())(header);
  EXPECT_FALSE(CheckedFrameBytes(header).ok());
}

// Each makes a volume that looks like any other, with voxels of another size.
TEST(Acquisition, MatricesInAnotherUnitAreNoArms) {
  const auto scaled = [](double by) {
    return [by](Header& h) {
      for (auto& matrix : *h.mutable_matrices()->mutable_matrix()) {
        for (int i = 0; i < 12; ++i) {
          if (i % 4 != 3) matrix.set_value(i, by * matrix.value(i));
        }
      }
    };
  };
  EXPECT_THAT(Complaint(scaled(10), ListedHeader()),
              HasSubstr("matrices.matrix[0]: the source is 75 mm from the isocentre; legal is 100 "
                        "to 10000 mm: are the matrices in millimetres?"));
  EXPECT_THAT(Complaint(scaled(1000), ListedHeader()), HasSubstr("the source is 0.75 mm from"));
  EXPECT_THAT(Complaint(scaled(7.50000001), ListedHeader()), HasSubstr("the magnification"))
      << "100 mm, but for rounding";
  EXPECT_THAT(Complaint(scaled(0.5), ListedHeader()),
              HasSubstr("the magnification at the isocentre is 0.8 (the detector is 1200 mm from "
                        "the source, the isocentre 1500 mm); legal is 1 to 10"));
  // Pixels of the header and of the matrices that are not the same ones.
  const auto pitch = [](double mm) {
    return [mm](Header& h) { h.mutable_detector()->set_pitch_u_mm(mm); };
  };
  EXPECT_THAT(Complaint(pitch(0.2), ListedHeader()), HasSubstr("and of pixels of 0.2 mm?"));
  for (const double legal : {0.7, 1.5}) {
    Header header = ListedHeader();
    scaled(legal)(header);
    EXPECT_TRUE(AcquisitionFromProto(header).ok()) << legal;
  }
}

}  // namespace
}  // namespace isocenter::wire
