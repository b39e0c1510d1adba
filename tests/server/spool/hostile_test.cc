// Files that are damaged, or made to do harm: never a crash, never a frame that was not written.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/base/crc32c.h"
#include "server/spool/format.h"
#include "tests/server/spool/spool_fixture.h"

namespace isocenter::spool {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using State = jobs::FrameState;

constexpr int kFrames = 3;
constexpr int64_t kBytes = 300;

class HostileTest : public SpoolTest {
 protected:
  void SetUp() override {
    SpoolTest::SetUp();
    options_.sync = SyncPolicy::kNever;
    Start();
    {
      const auto job = Create("job", kFrames, kBytes);
      ASSERT_TRUE(AppendNow(*job, FrameOf(0, kBytes)).ok());
      ASSERT_TRUE(AppendNow(*job, FrameOf(1, kBytes)).ok());
      ASSERT_TRUE(job->DeclareGap(2).ok());
      ASSERT_TRUE(job->Finish().ok());
    }
    Restart();  // nobody holds the job any more, the writers included
    intact_ = ReadFile(PathOf("job"));
    ASSERT_EQ(intact_.size(), (3 + kFrames) * kPageBytes);
  }
  absl::StatusOr<std::shared_ptr<jobs::JobSpool>> OpenWith(const Bytes& contents) {
    WriteFile(PathOf("job"), contents);
    return spool_->Open("job");
  }
  // What was opened holds nothing but what was written.
  void ExpectNothingWrong(jobs::JobSpool& job) {
    EXPECT_EQ(job.acquisition(), "description of job");
    const auto states = job.states();
    ASSERT_EQ(states.size(), kFrames);
    for (int i = 0; i < kFrames; ++i) {
      if (states[i] == State::kPresent) ExpectFrame(job, i, kBytes);
      EXPECT_THAT(states[i], AnyOf(State::kMissing, i == 2 ? State::kGap : State::kPresent));
    }
  }
  void ExpectDataLoss(const Bytes& contents, const std::string& what) {
    const auto job = OpenWith(contents);
    EXPECT_EQ(job.status().code(), absl::StatusCode::kDataLoss) << job.status();
    EXPECT_THAT(std::string(job.status().message()), HasSubstr(what));
  }
  // The header with a number changed and its checksum put right.
  template <class T>
  Bytes WithHeader(size_t offset, T value) const {
    Bytes bytes = intact_;
    std::memcpy(bytes.data() + offset, &value, sizeof(value));
    const uint32_t crc = Crc32c(std::span(bytes).first(kPageBytes - 4));
    std::memcpy(bytes.data() + kPageBytes - 4, &crc, sizeof(crc));
    return bytes;
  }

  Bytes intact_;
};

TEST_F(HostileTest, AnyByteOfTheMetadataFlipped) {
  // Fields, and the ends of pages, where checksums and paddings are.
  std::vector<size_t> places;
  const auto add = [&](size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) places.push_back(i);
  };
  add(0, 192);
  add(kPageBytes - 16, 64);
  add(2 * kPageBytes - 16, 64);
  for (int i = 0; i < kFrames; ++i) add((3 + i) * kPageBytes, kSlotHeaderBytes + 16);
  for (const size_t place : places) {
    SCOPED_TRACE(place);
    Bytes bytes = intact_;
    bytes[place] ^= std::byte{0x10};
    const auto job = OpenWith(bytes);
    if (place < kPageBytes) {
      EXPECT_EQ(job.status().code(), absl::StatusCode::kDataLoss);
      continue;
    }
    if (place >= 2 * kPageBytes && place < 2 * kPageBytes + 18) {
      EXPECT_EQ(job.status().code(), absl::StatusCode::kDataLoss);  // the description
      continue;
    }
    ASSERT_TRUE(job.ok()) << job.status();
    ExpectNothingWrong(**job);
    EXPECT_EQ((*job)->finished(), place < kPageBytes || place >= kPageBytes + 32);
    if (place >= 3 * kPageBytes) {
      const int slot = place / kPageBytes - 3;
      const bool is_protected = place % kPageBytes < kSlotHeaderBytes || slot < 2;
      EXPECT_EQ((*job)->states()[slot] == State::kMissing, is_protected);
    }
  }
}

TEST_F(HostileTest, RandomDamage) {
  std::mt19937 random(11);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    Bytes bytes = intact_;
    // The header stays in most rounds, so that something is left to open.
    const size_t first = round % 4 == 0 ? 0 : kPageBytes;
    const int changes = 1 << (random() % 8);
    for (int i = 0; i < changes; ++i) {
      bytes[first + random() % (bytes.size() - first)] = static_cast<std::byte>(random());
    }
    if (round % 5 == 0) {  // a page of one slot in the place of another
      const size_t from = random() % 6, to = 1 + random() % 5;
      std::memcpy(bytes.data() + to * kPageBytes, intact_.data() + from * kPageBytes, kPageBytes);
    }
    const auto job = OpenWith(bytes);
    if (job.ok()) {
      ExpectNothingWrong(**job);
    } else {
      EXPECT_EQ(job.status().code(), absl::StatusCode::kDataLoss) << job.status();
    }
  }
}

TEST_F(HostileTest, AnyLengthButItsOwn) {
  for (size_t bytes = 0; bytes < intact_.size() + 3; bytes += 257) {
    SCOPED_TRACE(bytes);
    Bytes cut = intact_;
    cut.resize(bytes);
    ExpectDataLoss(cut, "bytes long");
  }
  Bytes longer = intact_;
  longer.resize(intact_.size() + 1);
  ExpectDataLoss(longer, "bytes long");
}

TEST_F(HostileTest, TornTailOfASlot) {
  for (const int64_t zeros_from : {int64_t{0}, int64_t{1}, kSlotHeaderBytes, kSlotHeaderBytes + 1,
                                   kSlotHeaderBytes + kBytes - 1}) {
    SCOPED_TRACE(zeros_from);
    Bytes bytes = intact_;
    std::fill(bytes.begin() + 4 * kPageBytes + zeros_from, bytes.begin() + 5 * kPageBytes,
              std::byte{0});
    {
      const auto job = OpenWith(bytes);
      ASSERT_TRUE(job.ok()) << job.status();
      EXPECT_THAT((*job)->states(), ElementsAre(State::kPresent, State::kMissing, State::kGap));
      // It may be sent again.
      ASSERT_TRUE(AppendNow(**job, FrameOf(1, kBytes)).ok());
    }
    Restart();
    const auto job = spool_->Open("job");
    ASSERT_TRUE(job.ok());
    ExpectFrame(**job, 1, kBytes);
  }
}

TEST_F(HostileTest, NumbersThatWouldOverflow) {
  constexpr size_t kFramesAt = 0x18, kFrameBytesAt = 0x20, kStrideAt = 0x28, kSlotsAt = 0x30,
                   kAcquisitionAt = 0x38, kAcquisitionBytesAt = 0x40, kIdBytesAt = 0x4C;
  for (const size_t place :
       {kFramesAt, kFrameBytesAt, kStrideAt, kSlotsAt, kAcquisitionAt, kAcquisitionBytesAt}) {
    for (const int64_t value :
         {int64_t{-1}, int64_t{0}, int64_t{1} << 14, int64_t{1} << 19, int64_t{1} << 20,
          int64_t{1} << 32, int64_t{1} << 40, int64_t{1} << 62, INT64_MAX, INT64_MIN}) {
      SCOPED_TRACE(absl::StrCat(place, " ", value));
      ExpectDataLoss(WithHeader(place, value), "spool file");
    }
  }
  ExpectDataLoss(WithHeader(kIdBytesAt, uint32_t{65}), "contradict");
  ExpectDataLoss(WithHeader(kIdBytesAt, UINT32_MAX), "contradict");
  ExpectDataLoss(WithHeader(kIdBytesAt, uint32_t{2}), "it belongs to job jo");
}

TEST_F(HostileTest, SaysWhatItFound) {
  ExpectDataLoss(Bytes(intact_.size()), "not a spool file");
  ExpectDataLoss(WithHeader(8, uint32_t{2}), "version 2");
  // A slot, a description and a finish record of another file of the same job id.
  WriteFile(PathOf("job"), intact_);
  Bytes other = WithHeader(0x50, int64_t{42});  // created at another time
  const auto job = OpenWith(other);
  ASSERT_TRUE(job.ok());
  EXPECT_THAT((*job)->states(), ElementsAre(State::kMissing, State::kMissing, State::kMissing));
  EXPECT_FALSE((*job)->finished());
}

TEST_F(HostileTest, ForeignFilesAreLeftAlone) {
  spool_.reset();
  WriteFile(options_.directory / "notes.txt", Bytes(10));
  WriteFile(options_.directory / "white space.spool", Bytes(10));
  WriteFile(options_.directory / "half.creating", Bytes(10));
  WriteFile(options_.directory / "garbage.spool", Bytes(10));
  std::filesystem::create_directory(options_.directory / "folder.spool");
  std::filesystem::create_symlink("/dev/zero", options_.directory / "link.spool");
  Start();
  EXPECT_THAT(spool_->Jobs(), ElementsAre("garbage", "job"));
  EXPECT_THAT(Names(), ElementsAre("folder.spool", "garbage.spool", "job.spool", "link.spool",
                                   "notes.txt", "white space.spool"));
  EXPECT_EQ(spool_->Open("garbage").status().code(), absl::StatusCode::kDataLoss);
  spool_->Release("garbage");
  EXPECT_THAT(spool_->Jobs(), ElementsAre("job"));
  for (const char* id : {"", "..", "a/b", "../job", "white space"}) {
    EXPECT_EQ(spool_->Create(id, "", 1, 1, 0).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(spool_->Open(id).status().code(), absl::StatusCode::kNotFound);
  }
}

}  // namespace
}  // namespace isocenter::spool
