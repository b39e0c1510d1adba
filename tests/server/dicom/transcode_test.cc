#include "server/dicom/net/transcode.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcrledrg.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmjpls/djdecode.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/dicom/stored_job_fixture.h"

namespace isocenter::dicom {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSyntaxes[] = {
    UID_LittleEndianExplicitTransferSyntax, UID_LittleEndianImplicitTransferSyntax,
    UID_RLELosslessTransferSyntax, UID_JPEGLSLosslessTransferSyntax};

class TranscodeTest : public StoredJobTest {
 protected:
  static void SetUpTestSuite() {
    DcmRLEDecoderRegistration::registerCodecs();
    DJLSDecoderRegistration::registerCodecs();
  }
  /// A slice and a volume.
  std::vector<std::filesystem::path> Originals() {
    const jobs::Job job = TestJobInBothForms("job", 33, 21, 4);
    Store(job);
    return {Files(job)[1], VolumeFile(job)};
  }
};

std::vector<Uint16> Pixels(DcmDataset& dataset) {
  EXPECT_TRUE(dataset.chooseRepresentation(EXS_LittleEndianExplicit, nullptr).good());
  const Uint16* pixels = nullptr;
  unsigned long count = 0;
  EXPECT_TRUE(dataset.findAndGetUint16Array(DCM_PixelData, pixels, &count).good());
  return {pixels, pixels + count};
}

/// All attributes but the pixels, as text.
std::string Attributes(DcmDataset& dataset) {
  const std::unique_ptr<DcmElement> pixels(dataset.remove(DCM_PixelData));
  std::ostringstream text;
  dataset.print(text);
  std::string all = text.str();
  // Its first lines name the transfer syntax.
  return all.substr(all.find("(0008,"));
}

TEST_F(TranscodeTest, EveryTransferSyntaxKeepsAllAttributesAndPixels) {
  for (const auto& path : Originals()) {
    DcmFileFormat original;
    ASSERT_TRUE(original.loadFile(path.c_str()).good());
    const std::vector<Uint16> pixels = Pixels(*original.getDataset());
    const std::string attributes = Attributes(*original.getDataset());
    for (const char* syntax : kSyntaxes) {
      auto file = LoadAs(path, syntax);
      ASSERT_TRUE(file.ok()) << file.status();
      const E_TransferSyntax xfer = DcmXfer(syntax).getXfer();
      // As it arrives at a destination.
      const auto sent = directory_.path() / "sent.dcm";
      ASSERT_TRUE((*file)->saveFile(sent.c_str(), xfer).good()) << syntax;
      DcmFileFormat received;
      ASSERT_TRUE(received.loadFile(sent.c_str()).good());
      EXPECT_EQ(received.getDataset()->getOriginalXfer(), xfer);
      EXPECT_EQ(Pixels(*received.getDataset()), pixels) << syntax;
      EXPECT_EQ(Attributes(*received.getDataset()), attributes) << syntax;
    }
  }
}

TEST_F(TranscodeTest, CompressedObjectsAreSmallerAndLegal) {
  for (const auto& path : Originals()) {
    for (const Compression compression :
         {Compression::kRleLossless, Compression::kJpegLsLossless}) {
      const char* syntax = TransferSyntaxUid(compression);
      auto file = LoadAs(path, syntax);
      ASSERT_TRUE(file.ok()) << file.status();
      const auto sent = directory_.path() / "sent.dcm";
      ASSERT_TRUE((*file)->saveFile(sent.c_str(), DcmXfer(syntax).getXfer()).good());
      EXPECT_LT(std::filesystem::file_size(sent), std::filesystem::file_size(path));
      EXPECT_THAT(Validate(sent), ::testing::Not(HasSubstr("Error"))) << syntax;
    }
  }
}

TEST_F(TranscodeTest, ManyThreadsAtOnce) {
  const auto path = Originals().back();
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (const char* syntax : kSyntaxes) good += LoadAs(path, syntax).ok() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 16);
}

TEST_F(TranscodeTest, WhatCannotBeReadOrMadeIsNamed) {
  const auto path = Originals().front();
  const auto wrong = LoadAs(path, UID_JPEG2000LosslessOnlyTransferSyntax).status();
  EXPECT_EQ(wrong.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(wrong.message()), HasSubstr(UID_JPEG2000LosslessOnlyTransferSyntax));
  EXPECT_EQ(LoadAs(directory_.path() / "gone.dcm", kSyntaxes[0]).status().code(),
            absl::StatusCode::kNotFound);
  const auto damaged = directory_.path() / "damaged.dcm";
  std::ofstream(damaged) << "this is no DICOM file, whatever its name says, and long enough";
  EXPECT_EQ(LoadAs(damaged, kSyntaxes[0]).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace isocenter::dicom
