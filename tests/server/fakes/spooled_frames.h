// A spool on disk with some frames of a small acquisition.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "server/spool/spool.h"
#include "tests/server/fakes/temporary_directory.h"
#include "tests/server/fakes/test_scan.h"

namespace isocenter::testing {

struct SpooledFrames {
  explicit SpooledFrames(const recon::Acquisition& of)
      : acquisition(of),
        all(*spool::Spool::Open(spool::SpoolOptions{.directory = directory.path() / "spool"})),
        spool(*all->Create("job", "record", static_cast<int>(of.trajectory.size()),
                           recon::FrameBytes(of), 0)) {}

  void Add(int view, const std::optional<ProjectionMatrix>& measured = std::nullopt,
           float dose = 0) {
    const std::string pixels = SmallFrame(acquisition, view);
    absl::Notification written;
    spool->Append({.index = view,
                   .pixels = {std::as_bytes(std::span(pixels))},
                   .measured_matrix = measured,
                   .dose = dose},
                  [&](const absl::Status& status) {
                    EXPECT_TRUE(status.ok()) << status;
                    written.Notify();
                  });
    written.WaitForNotification();
  }

  const recon::Acquisition& acquisition;
  TemporaryDirectory directory;
  std::unique_ptr<spool::Spool> all;
  std::shared_ptr<jobs::JobSpool> spool;
};

}  // namespace isocenter::testing
