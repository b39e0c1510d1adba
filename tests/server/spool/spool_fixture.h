// A spool in a directory of its own, and frames whose pixels tell which frame they are of.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "server/spool/spool.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::spool {

using Bytes = std::vector<std::byte>;

inline Bytes PixelsOf(int index, int64_t bytes) {
  std::mt19937 random(index + 1);
  Bytes pixels(bytes);
  for (std::byte& value : pixels) value = static_cast<std::byte>(random());
  return pixels;
}

inline ProjectionMatrix MatrixOf(int index) {
  ProjectionMatrix matrix;
  for (int i = 0; i < 12; ++i) matrix.m[i] = index + i / 16.0;
  return matrix;
}

inline float DoseOf(int index) { return index % 3 == 2 ? 1 + static_cast<float>(index) / 16 : 0; }

/// 0 is a phase, too.
inline std::optional<float> PhaseOf(int index) {
  return index % 2 == 1 ? std::optional(static_cast<float>(index - 1) / 1024) : std::nullopt;
}

/// In pieces of odd lengths, an empty one among them; odd frames have a measured matrix and a
/// phase, each third one a dose.
inline jobs::SpoolFrame FrameOf(int index, int64_t bytes) {
  auto pixels = std::make_shared<Bytes>(PixelsOf(index, bytes));
  const std::span<const std::byte> all(*pixels);
  jobs::SpoolFrame frame;
  frame.index = index;
  const size_t cut = bytes / 3;
  frame.pixels = {all.first(cut), {}, all.subspan(cut)};
  if (index % 2 == 1) frame.measured_matrix = MatrixOf(index);
  frame.dose = DoseOf(index);
  frame.phase = PhaseOf(index);
  frame.memory = std::move(pixels);
  return frame;
}

/// Appends and waits.
inline absl::Status AppendNow(jobs::JobSpool& job, jobs::SpoolFrame frame) {
  absl::Status result;
  absl::Notification done;
  job.Append(std::move(frame), [&](absl::Status status) {
    result = std::move(status);
    done.Notify();
  });
  done.WaitForNotification();
  return result;
}

inline void ExpectFrame(jobs::JobSpool& job, int index, int64_t bytes) {
  Bytes pixels(bytes);
  const auto told = job.Read(index, pixels);
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(pixels, PixelsOf(index, bytes)) << "frame " << index;
  ASSERT_EQ(told->matrix.has_value(), index % 2 == 1);
  if (told->matrix) {
    EXPECT_EQ(*told->matrix, MatrixOf(index));
  }
  EXPECT_EQ(told->dose, DoseOf(index));
  EXPECT_EQ(told->phase, PhaseOf(index));
  EXPECT_EQ(job.phases()[index], PhaseOf(index));
}

inline Bytes ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return Bytes(bytes.begin(), bytes.end());
}

/// In place, which is several times faster than truncating first: ext4 then waits for the disk.
inline void WriteFile(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::app);  // makes it
  std::filesystem::resize_file(path, bytes.size());
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

class SpoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.directory = directory_.path() / "spool";
    options_.clock = [this] { return absl::FromUnixSeconds(seconds_); };
  }
  // Jobs end before their spool.
  void Start() {
    auto spool = Spool::Open(options_);
    ASSERT_TRUE(spool.ok()) << spool.status();
    spool_ = *std::move(spool);
  }
  void Restart() {
    spool_.reset();
    Start();
  }
  std::shared_ptr<jobs::JobSpool> Create(const std::string& id, int frames, int64_t frame_bytes) {
    auto job = spool_->Create(id, "description of " + id, frames, frame_bytes, 0);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *job : nullptr;
  }
  std::filesystem::path PathOf(const std::string& id) const {
    return options_.directory / (id + ".spool");
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(options_.directory)) {
      if (entry.path().filename() != "lock") names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  testing::TemporaryDirectory directory_;
  SpoolOptions options_;
  std::atomic<int64_t> seconds_ = 1'700'000'000;
  std::unique_ptr<Spool> spool_;
};

}  // namespace isocenter::spool
