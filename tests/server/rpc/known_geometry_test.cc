// Headers that leave their matrices to the service: which set they get, and why none.
#include "server/rpc/translation/known_geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "proto/wire/calibration.h"
#include "proto/wire/calibration_file.h"
#include "proto/wire/geometry.h"
#include "server/calibrations/upload.h"
#include "server/config/server_config.h"
#include "server/rpc/translation/translate_header.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::rpc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Detector kDetector{.columns = 64, .rows = 48, .pitch_u_mm = 4, .pitch_v_mm = 4};
constexpr double kArc = 3.4;  // 194.8 degrees
const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

Trajectory Arm(int frames, double radius_mm = 750) {
  return *MakeCircularOrbit({.views = frames,
                             .source_to_isocenter_mm = radius_mm,
                             .source_to_detector_mm = 1200,
                             .arc = kArc},
                            kDetector);
}

v1::AcquisitionHeader Header(uint32_t frames = 20) {
  v1::AcquisitionHeader header;
  header.set_station_name("room1");
  header.set_detector_mode("bin2");
  *header.mutable_detector() = wire::ToProto(kDetector);
  header.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
  header.set_i0_counts(60000);
  header.set_frame_count(frames);
  return header;
}

class KnownGeometryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    calibrations::StoreOptions options;
    options.directory = directory_.path() / "calibrations";
    store_ = *calibrations::Store::Open(options);
  }

  void Keep(const std::string& name, const Trajectory& trajectory, int days_old = 0,
            const std::string& station = "room1") {
    v1::CalibrationSet set;
    set.set_name(name);
    set.set_station_name(station);
    set.set_detector_mode("bin2");
    *set.mutable_detector() = wire::ToProto(kDetector);
    const absl::Time made = kNow - absl::Hours(24) * days_old;
    wire::SetTime(made, *set.mutable_created());
    wire::SetTime(made, *set.mutable_valid_from());
    wire::SetTime(made + absl::Hours(24 * 30), *set.mutable_valid_until());
    if (!trajectory.empty()) wire::SetGeometry(trajectory, set);
    const std::string file = wire::CalibrationFile(set);
    auto upload = store_->Begin(name, file.size());
    ASSERT_TRUE(upload.ok()) << upload.status();
    ASSERT_TRUE((*upload)->Append(file).ok());
    ASSERT_TRUE((*upload)->Commit().ok());
  }
  absl::StatusOr<KnownGeometry> Find(const v1::AcquisitionHeader& header) {
    return FindGeometry(header, store_.get(), kNow);
  }
  std::string Error(const v1::AcquisitionHeader& header) {
    return std::string(Find(header).status().message());
  }

  testing::TemporaryDirectory directory_;
  std::unique_ptr<calibrations::Store> store_;
};

TEST_F(KnownGeometryTest, AHeaderWithMatricesOrACircleIsLeftAlone) {
  v1::AcquisitionHeader header = Header();
  EXPECT_TRUE(LeavesGeometry(header));
  header.mutable_circular();
  EXPECT_FALSE(LeavesGeometry(header));
  header.mutable_matrices();
  EXPECT_FALSE(LeavesGeometry(header));
  header.set_geometry("arm");
  EXPECT_TRUE(LeavesGeometry(header));
  EXPECT_THAT(Error(header), HasSubstr("matrices are listed; legal is one of them"));
}

TEST_F(KnownGeometryTest, TheNewestValidSetOfTheStationAndItsFramesIsTaken) {
  Keep("older", Arm(20, 740), 9);
  Keep("newer", Arm(20, 750), 2);
  Keep("newest_of_others", Arm(10, 760), 1);
  Keep("next_door", Arm(20, 770), 0, "room2");
  Keep("no_matrices", {}, 0);
  const auto found = Find(Header());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->used.name, "newer");
  EXPECT_NE(found->used.crc32c, 0);
  EXPECT_EQ(found->header.matrices().matrix_size(), 20);
  EXPECT_NEAR(found->header.matrices().matrix(3).value(11), 1, 1e-12);
  ASSERT_TRUE(store_->Withdraw("newer").ok());
  EXPECT_EQ(Find(Header())->used.name, "older");
  v1::AcquisitionHeader named = Header(10);
  named.set_geometry("newest_of_others");
  EXPECT_EQ(Find(named)->used.name, "newest_of_others");
}

TEST_F(KnownGeometryTest, SaysWhyNoneFits) {
  EXPECT_EQ(Find(Header()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Error(Header()), AllOf(HasSubstr("trajectory is unset"), HasSubstr("room1")));
  Keep("arm", Arm(20), 40);
  EXPECT_THAT(Error(Header()), HasSubstr("which is not now"));
  EXPECT_EQ(Find(Header()).status().code(), absl::StatusCode::kFailedPrecondition);
  Keep("fresh", Arm(20));
  EXPECT_THAT(Error(Header(21)), HasSubstr("'fresh' does not fit: it is of 20 frames, and the "
                                           "acquisition of 21"));
  v1::AcquisitionHeader other = Header();
  other.mutable_detector()->set_rows(50);
  EXPECT_THAT(Error(other), HasSubstr("64x48 pixels of 4x4 mm, and the acquisition of 64x50"));
  other = Header();
  other.set_detector_mode("bin1");
  EXPECT_THAT(Error(other), HasSubstr("detector mode 'bin2', and the acquisition of 'bin1'"));
  other = Header();
  other.set_geometry("lost");
  EXPECT_THAT(Error(other), HasSubstr("geometry is 'lost', and no set of that name is kept"));
  other.set_geometry(std::string(100, 'x'));
  EXPECT_EQ(Find(other).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(FindGeometry(Header(), nullptr, kNow).ok());
}

TEST_F(KnownGeometryTest, APlannedCircleMustTurnAsFar) {
  Keep("arm", Arm(20));
  v1::AcquisitionHeader header = Header();
  header.set_geometry("arm");
  header.mutable_circular()->set_arc_deg(196);
  EXPECT_TRUE(Find(header).ok()) << Find(header).status();
  EXPECT_FALSE(Find(header)->header.has_circular());
  header.mutable_circular()->set_arc_deg(-195);
  EXPECT_THAT(Error(header), HasSubstr("circular.arc_deg is -195"));
}

// What is kept with the frames says where the matrices are from; a console that goes on with its
// job need not say.
TEST_F(KnownGeometryTest, IsRecordedAndRepeated) {
  v1::AcquisitionHeader header = Header();
  const auto repeated = TranslateRepeated(header);
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  EXPECT_TRUE(repeated->geometry.has_value());
  EXPECT_EQ(repeated->acquisition.trajectory.size(), 20);
  Keep("arm", Arm(20));
  const KnownGeometry known = *Find(header);
  v1::ServerConfig config;
  config::ApplyDefaults(config);
  const auto fresh = TranslateHeader(known.header, *config::ProtocolBook::Make(config), 1 << 20);
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  const auto request = TranslateRecord(AddGeometry(fresh->record, known.used));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->geometry, known.used);
  EXPECT_EQ(request->acquisition.trajectory.size(), 20);
}

}  // namespace
}  // namespace isocenter::rpc
