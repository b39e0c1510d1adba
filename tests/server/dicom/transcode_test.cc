#include "server/dicom/net/transcode.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcrledrg.h>
#include <dcmtk/dcmdata/dctk.h>

#include <atomic>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dicom/net/jpeg_ls.h"
#include "tests/server/dicom/stored_job_fixture.h"

namespace isocenter::dicom {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSyntaxes[] = {
    UID_LittleEndianExplicitTransferSyntax, UID_LittleEndianImplicitTransferSyntax,
    UID_RLELosslessTransferSyntax, UID_JPEGLSLosslessTransferSyntax};

class TranscodeTest : public StoredJobTest {
 protected:
  static void SetUpTestSuite() { DcmRLEDecoderRegistration::registerCodecs(); }
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

/// Reads a file of JPEG-LS by a program of its own: DCMTK's decoder and our encoder have functions
/// of the same names.
bool Decompressed(const std::filesystem::path& path, DcmFileFormat& file) {
  const std::string plain = path.string() + ".plain";
  return system(("dcmdjpls " + path.string() + " " + plain).c_str()) == 0 &&
         file.loadFile(plain.c_str()).good();
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
      DcmFileFormat decompressed;
      const bool is_jpeg_ls = xfer == EXS_JPEGLSLossless;
      if (is_jpeg_ls) {
        ASSERT_TRUE(Decompressed(sent, decompressed));
      }
      EXPECT_EQ(Pixels(*(is_jpeg_ls ? decompressed : received).getDataset()), pixels) << syntax;
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

TEST_F(TranscodeTest, NoiseThatDoesNotCompressIsSentAsItIs) {
  jobs::Job job = TestJobInBothForms("noise", 256, 256, 2);
  std::mt19937 random(5);
  std::vector<float> noise(job.grid.voxels());
  for (float& value : noise) value = static_cast<float>(static_cast<int16_t>(random()));
  ASSERT_TRUE(store_->Store(job, View(noise, job.grid), nullptr, nullptr).ok());
  for (const auto& path : Files(job)) {
    DcmFileFormat original, received;
    ASSERT_TRUE(original.loadFile(path.c_str()).good());
    auto file = LoadAs(path, UID_JPEGLSLosslessTransferSyntax);
    ASSERT_TRUE(file.ok()) << file.status();
    const auto sent = directory_.path() / "sent.dcm";
    ASSERT_TRUE((*file)->saveFile(sent.c_str(), EXS_JPEGLSLossless).good());
    EXPECT_GT(std::filesystem::file_size(sent), std::filesystem::file_size(path));
    ASSERT_TRUE(Decompressed(sent, received));
    EXPECT_EQ(Pixels(*received.getDataset()), Pixels(*original.getDataset()));
  }
}

TEST(JpegLs, LongestCodesFit) {
  // Each value is as far from what is predicted as can be, so that every code has its longest word.
  std::vector<uint16_t> pixels(100 * 100);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = i % 3 == 0 ? 0xffff : i % 2 * 0x7fff;
  const auto encoded = EncodeJpegLs(pixels, 100, 100);
  ASSERT_TRUE(encoded.ok()) << encoded.status();
  EXPECT_GT(encoded->size(), pixels.size());
  for (const auto& [columns, rows] : {std::pair(0u, 100u), std::pair(70000u, 1u), {99u, 100u}}) {
    EXPECT_THAT(std::string(EncodeJpegLs(pixels, columns, rows).status().message()),
                HasSubstr("legal is 1 to 65535"));
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
