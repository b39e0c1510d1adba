#include "kernels/recon/iterative/residence/host_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/kernels/recon/iterative/late_session.h"

namespace isocenter::recon {
namespace {

using ::testing::ElementsAre;

// Part i has i + 1 slices, its first voxel at z = i.
std::unique_ptr<HostParts<VolumeParts>> MakeParts(LateSession& session, int count) {
  std::vector<VolumeGrid> grids;
  for (int i = 0; i < count; ++i) {
    grids.push_back(CenteredGrid(2, 3, i + 1, {1, 1, 1}));
    grids.back().origin.z = i;
  }
  return *HostParts<VolumeParts>::Create(session, grids, grids.back());
}

LateVolume& At(HostParts<VolumeParts>& parts, int part, Access access) {
  return static_cast<LateVolume&>(**parts.At(part, access));
}

TEST(HostParts, WhatComesNextIsCopiedBesideTheWork) {
  LateSession session;
  const auto parts = MakeParts(session, 5);
  for (const int pass : {0, 1}) {
    session.log.clear();
    for (int part = 0; part < 5; ++part) At(*parts, part, Access::kUpdate).Work();
    if (pass == 0) continue;
    // Copies are asked for before the work that they go on beside: of the part before and, to a
    // third room, of the next one. Nothing is waited for.
    EXPECT_THAT(session.log,
                ElementsAre("up 1", "down 4", "work", "up 2", "down 0", "work", "up 3", "down 1",
                            "work", "up 4", "down 2", "work", "up 0", "down 3", "work"));
  }
}

TEST(HostParts, WhatIsNotChangedDoesNotGoBack) {
  LateSession session;
  const auto parts = MakeParts(session, 4);
  for (int part = 0; part < 4; ++part) At(*parts, part, Access::kRead).Work();
  EXPECT_THAT(session.log,
              ElementsAre("up 0", "up 1", "work", "up 2", "work", "up 3", "work", "up 0", "work"));
}

TEST(HostParts, WhatIsOverwrittenDoesNotCome) {
  LateSession session;
  const auto parts = MakeParts(session, 4);
  for (int part = 0; part < 4; ++part) {
    At(*parts, part, Access::kOverwrite);
    At(*parts, part, Access::kUpdate).Work();
  }
  EXPECT_THAT(session.log,
              ElementsAre("work", "down 0", "work", "down 1", "work", "down 2", "work"));
}

TEST(HostParts, AsManyPartsAsRoomsStay) {
  for (const int count : {1, 2, 3}) {
    LateSession session;
    const auto parts = MakeParts(session, count);
    EXPECT_EQ(HostParts<VolumeParts>::Rooms(count), count);
    for (int part = 0; part < count; ++part) At(*parts, part, Access::kUpdate);
    session.log.clear();
    for (int part = 0; part < count; ++part) At(*parts, part, Access::kUpdate);
    EXPECT_THAT(session.log, ElementsAre());
  }
}

// However late copies happen, each part has what was last written to it.
TEST(HostParts, KeepWhatWasWritten) {
  for (const int count : {1, 2, 3, 4, 7}) {
    std::mt19937 random(count);
    LateSession session;
    const auto parts = MakeParts(session, count);
    std::vector<float> expected(count, 0);
    const auto check = [&](const auto& values, int part) {
      ASSERT_EQ(std::count(values.begin(), values.begin() + 6 * (part + 1), expected[part]),
                6 * (part + 1))
          << "part " << part << " of " << count;
    };
    int part = 0;
    for (int step = 1; step < 3000; ++step) {
      // Mostly in order, as methods do.
      part = random() % 4 > 0 ? (part + 1) % count : static_cast<int>(random() % count);
      const Access access = static_cast<Access>(random() % 3);
      LateVolume& volume = At(*parts, part, access);
      // Not all that is asked for is worked on.
      if (access == Access::kRead && random() % 4 == 0) continue;
      std::vector<float>& values = volume.Work();
      if (access != Access::kOverwrite) check(values, part);
      if (access != Access::kRead) {
        expected[part] = static_cast<float>(step);
        std::fill_n(values.begin(), 6 * (part + 1), expected[part]);
      }
      if (random() % 50 > 0) continue;
      ASSERT_TRUE(parts->Flush().ok());
      for (int i = 0; i < count; ++i) check(parts->InHost(i).span(), i);
    }
  }
}

}  // namespace
}  // namespace isocenter::recon
