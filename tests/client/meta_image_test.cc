#include "client/formats/meta_image.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <zlib.h>

#include <numeric>

#include "absl/strings/str_cat.h"
#include "client/formats/file.h"
#include "kernels/quality/conditions.h"
#include "tests/client/test_files.h"

namespace isocenter::formats {
namespace {

using client_test::ReadBytes;
using client_test::TemporaryDirectory;
using client_test::WriteBytes;
using testing::HasSubstr;

Volume OddVolume() {
  Volume volume;
  volume.grid = {.nx = 3, .ny = 4, .nz = 5};
  volume.grid.spacing = {0.5, 1.25, 2};
  volume.grid.origin = {-10.1, 20.2, 30.3};
  volume.grid.direction = {0, -1, 0, 1, 0, 0, 0, 0, 1};  // x index along +y, y index along -x
  volume.voxels.resize(60);
  std::iota(volume.voxels.begin(), volume.voxels.end(), -7.5f);
  return volume;
}

std::string Header(const std::string& more, const std::string& data = "LOCAL") {
  return absl::StrCat("ObjectType = Image\nNDims = 3\n", more, "ElementDataFile = ", data, "\n");
}

TEST(MetaImage, MhaAndMhdKeepEveryBitOfVoxelsAndGrid) {
  TemporaryDirectory directory;
  for (const char* name : {"v.mha", "v.mhd"}) {
    ASSERT_TRUE(WriteMetaImage(directory / name, OddVolume()).ok());
    const absl::StatusOr<Volume> read = ReadMetaImage(directory / name);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->grid, OddVolume().grid) << name;
    EXPECT_EQ(read->voxels, OddVolume().voxels) << name;
  }
  EXPECT_EQ(std::filesystem::file_size(directory / "v.raw"), 240u);
}

TEST(MetaImage, TransformMatrixListsOneIndexAxisAfterTheOther) {
  TemporaryDirectory directory;
  ASSERT_TRUE(WriteMetaImage(directory / "v.mha", OddVolume()).ok());
  // The x index runs along +y, the y index along -x.
  EXPECT_THAT(ReadBytes(directory / "v.mha"), HasSubstr("TransformMatrix = 0 1 0 -1 0 0 0 0 1"));
}

TEST(MetaImage, ReadsEveryElementTypeAndByteOrder) {
  TemporaryDirectory directory;
  const std::string size = "DimSize = 2 1 1\n";
  const std::pair<std::string, std::string> cases[] = {
      {"ElementType = MET_CHAR\n", std::string("\xFF\x02", 2)},
      {"ElementType = MET_SHORT\n", std::string("\xFF\xFF\x02\x00", 4)},
      {"ElementType = MET_SHORT\nBinaryDataByteOrderMSB = True\n",
       std::string("\xFF\xFF\x00\x02", 4)},
      {"ElementType = MET_INT\n", client_test::Bytes(-1) + client_test::Bytes(2)},
      {"ElementType = MET_FLOAT\n", client_test::Bytes(-1.0f) + client_test::Bytes(2.0f)},
      {"ElementType = MET_DOUBLE\n", client_test::Bytes(-1.0) + client_test::Bytes(2.0)},
  };
  for (const auto& [tags, data] : cases) {
    WriteBytes(directory / "v.mha", Header(size + tags) + data);
    const absl::StatusOr<Volume> read = ReadMetaImage(directory / "v.mha");
    ASSERT_TRUE(read.ok()) << tags << read.status();
    EXPECT_EQ(read->voxels, (std::vector<float>{-1, 2})) << tags;
  }
}

TEST(MetaImage, ReadsCompressedData) {
  TemporaryDirectory directory;
  std::vector<int16_t> voxels(20 * 20 * 20);
  std::iota(voxels.begin(), voxels.end(), -4000);
  uLongf bytes = compressBound(voxels.size() * 2);
  std::string packed(bytes, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &bytes,
           reinterpret_cast<const Bytef*>(voxels.data()), voxels.size() * 2);
  packed.resize(bytes);
  const std::string header =
      Header("CompressedData = True\nDimSize = 20 20 20\nElementType = MET_SHORT\n");
  WriteBytes(directory / "v.mha", header + packed);
  const absl::StatusOr<Volume> read = ReadMetaImage(directory / "v.mha");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->voxels, std::vector<float>(voxels.begin(), voxels.end()));

  // Said to be of half the size.
  WriteBytes(
      directory / "v.mha",
      Header("CompressedData = True\nDimSize = 20 20 20\nElementType = MET_CHAR\n") + packed);
  EXPECT_THAT(std::string(ReadMetaImage(directory / "v.mha").status().message()),
              HasSubstr("more data than its header says"));

  WriteBytes(directory / "v.mha", header + packed.substr(0, packed.size() / 2));
  EXPECT_EQ(ReadMetaImage(directory / "v.mha").status().code(), absl::StatusCode::kDataLoss);
  std::string wrong_checksum = packed;
  wrong_checksum.back() ^= 1;
  for (const std::string& data : {wrong_checksum, packed.substr(0, packed.size() - 1)}) {
    WriteBytes(directory / "v.mha", header + data);
    EXPECT_EQ(ReadMetaImage(directory / "v.mha").status().code(), absl::StatusCode::kDataLoss);
  }
  packed[packed.size() / 2] ^= 0x55;
  WriteBytes(directory / "v.mha", header + packed.substr(0, packed.size() - 8));
  EXPECT_FALSE(ReadMetaImage(directory / "v.mha").ok());
}

TEST(MetaImage, LeftHandedAxesBecomeRightHandedAndVoxelsStayInPlace) {
  TemporaryDirectory directory;
  WriteBytes(directory / "v.mha", Header("DimSize = 1 1 2\nElementType = MET_CHAR\nOffset = 0 0 5\n"
                                         "TransformMatrix = 1 0 0 0 1 0 0 0 -1\n") +
                                      std::string("\x01\x02", 2));
  const absl::StatusOr<Volume> read = ReadMetaImage(directory / "v.mha");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->voxels, (std::vector<float>{2, 1}));
  EXPECT_EQ(read->grid.origin, (Vec3{0, 0, 4}));
  EXPECT_EQ(read->grid.direction, VolumeGrid().direction);
}

TEST(MetaImage, HostileHeadersAreRefusedByName) {
  TemporaryDirectory directory;
  const std::string good = "DimSize = 2 1 1\nElementType = MET_CHAR\n";
  const std::pair<std::string, const char*> cases[] = {
      {"not an image", "not a MetaImage"},
      {std::string(1000, '\0'), "not a MetaImage"},
      {"", "is empty: it has 0 bytes"},
      {Header(good + "ElementSpacing = 0 nan 2.4\n"),
       "ElementSpacing is '0 nan 2.4'; legal is 3 finite numbers above 0"},
      {Header("DimSize = -2 1 1\nElementType = MET_CHAR\n"), "DimSize"},
      {Header("DimSize = 0 1 1\nElementType = MET_CHAR\n"), "DimSize"},
      {Header("DimSize = 99999999999999999999 1 1\nElementType = MET_CHAR\n"), "DimSize"},
      {Header("DimSize = 2147483648 1 1\nElementType = MET_CHAR\n"), "DimSize"},
      {Header("DimSize = 4294967296 4294967296 1\nElementType = MET_CHAR\n"), "DimSize"},
      {Header("DimSize = -4096 -4096 4096\nElementType = MET_CHAR\n"), "DimSize"},
      {Header("DimSize = 2 1\nElementType = MET_CHAR\n"), "DimSize"},
      {Header("ElementType = MET_CHAR\n"), "DimSize is missing"},
      {Header("DimSize = 2 1 1\n"), "ElementType is missing"},
      {Header("DimSize = 2 1 1\nElementType = MET_STRING\n"), "MET_STRING"},
      {Header(good + "ElementSpacing = 1 0 1\n"), "ElementSpacing"},
      {Header(good + "ElementSpacing = nan 1 1\n"), "ElementSpacing"},
      {Header(good + "Offset = 1e300 0 0\n") + "ab", "origin"},
      {Header(good + "TransformMatrix = 1 0 0 0 0 0 0 0 1\n") + "ab", "direction"},
      {Header(good + "ElementNumberOfChannels = 3\n"), "ElementNumberOfChannels"},
      {Header(good, "slice%03d.raw"), "ElementDataFile"},
      {Header("DimSize = 4096 4096 4096\nElementType = MET_DOUBLE\n") + "ab", "truncated"},
      {Header("DimSize = 4096 4096 4096\nElementType = MET_DOUBLE\nCompressedData = True\n") + "ab",
       "truncated"},
      {Header(good) + "a", "truncated"},
      {Header(good) + "abc",
       "DimSize 2 x 1 x 1 with voxels of 1 bytes needs 2 bytes, and there are 3; legal are "
       "exactly"},
      {Header(good, "absent.raw"), "absent.raw"},
  };
  for (const auto& [bytes, part] : cases) {
    WriteBytes(directory / "v.mha", bytes);
    const absl::Status status = ReadMetaImage(directory / "v.mha").status();
    EXPECT_FALSE(status.ok()) << bytes;
    EXPECT_THAT(std::string(status.message()), HasSubstr(part)) << bytes;
  }
  EXPECT_EQ(ReadMetaImage(directory / "none.mha").status().code(), absl::StatusCode::kNotFound);
}

// As much as deflate could have packed into the file, and more than a machine's memory.
TEST(MetaImage, ALargeFileMayNotClaimMoreThanThereIs) {
  TemporaryDirectory directory;
  const auto path = directory / "v.mha";
  WriteBytes(path, Header("DimSize = 4096 4096 4096\nElementType = MET_CHAR\n"
                          "CompressedData = True\n"));
  std::filesystem::resize_file(path, 64 << 20);  // a hole
  const absl::Status status = ReadMetaImage(path).status();
  // On machines whose memory would do, the data are none.
  EXPECT_THAT(status.code(),
              testing::AnyOf(absl::StatusCode::kResourceExhausted, absl::StatusCode::kDataLoss));
  EXPECT_THAT(std::string(status.message()),
              testing::AnyOf(HasSubstr("68719476736 voxels needs 256 GiB of memory; "),
                             HasSubstr("damaged")));
}

// A pipe would wait for its writer, a device would never end.
TEST(InputFile, IsARegularFile) {
  TemporaryDirectory directory;
  mkfifo((directory / "pipe").c_str(), 0600);
  for (const auto& [path, said] :
       {std::pair{directory.path(), "is a directory, not a file"},
        {directory / "pipe", "is a device or pipe, not a regular file"},
        {std::filesystem::path("/dev/zero"), "is a device or pipe, not a regular file"}}) {
    const absl::Status status = InputFile::Open(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(path.string() + " " + said));
  }
  // The data of a .mhd, too.
  WriteBytes(directory / "v.mhd", Header("DimSize = 2 1 1\nElementType = MET_CHAR\n", "pipe"));
  EXPECT_THAT(std::string(ReadMetaImage(directory / "v.mhd").status().message()),
              HasSubstr("not a regular file"));
}

TEST(MetaImage, AnUnfinishedFileDoesNotAppear) {
  TemporaryDirectory directory;
  {
    absl::StatusOr<MetaImageWriter> writer =
        MetaImageWriter::Create(directory / "v.mha", OddVolume().grid);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->Append(std::vector<float>(59)).ok());
    EXPECT_EQ(writer->Finish().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(writer->Append(std::vector<float>(2)).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(OutputFile, ReplacesWhatWasThereAndNothingThatCameSince) {
  client_test::TemporaryDirectory directory;
  const std::string path = directory / "one";
  ASSERT_TRUE(WriteText(path, "first").ok());
  ASSERT_TRUE(WriteText(path, "second").ok());
  EXPECT_EQ(*ReadText(path, 100), "second");
  const std::string other = directory / "two";
  {
    auto late = OutputFile::Create(other);
    ASSERT_TRUE(late.ok());
    WriteBytes(other, "meanwhile");
    const absl::Status committed = late->Commit();
    EXPECT_TRUE(absl::IsAlreadyExists(committed)) << committed;
    EXPECT_THAT(std::string(committed.message()),
                ::testing::HasSubstr("two was made by another program meanwhile"));
  }
  EXPECT_EQ(*ReadText(other, 100), "meanwhile");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory / ".")) {
    files += entry.is_regular_file();
  }
  EXPECT_EQ(files, 2) << "nothing is left of what was not committed";
}

/// What is known of the numbers comes back, and nothing of it where nothing is.
TEST(MetaImage, FactsStandInTheHeader) {
  TemporaryDirectory directory;
  Volume volume = OddVolume();
  ASSERT_TRUE(WriteMetaImage(directory / "plain.mha", volume).ok());
  EXPECT_EQ(ReadMetaImage(directory / "plain.mha")->facts, VolumeFacts{});
  volume.facts = {.unit = "HU",
                  .frames = quality::FramesOfJob("job-1"),
                  .protocol = "head",
                  .filter = "hann 0.70",
                  .calibration = "room3-a",
                  .tube_voltage_kv = 90.5};
  for (const char* name : {"v.mha", "v.mhd"}) {
    ASSERT_TRUE(WriteMetaImage(directory / name, volume).ok());
    const auto back = ReadMetaImage(directory / name);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->facts, volume.facts);
    EXPECT_EQ(back->voxels, volume.voxels);
  }
  // A name cannot add a line.
  volume.facts.protocol = "a\nDimSize = 1 1 1";
  ASSERT_TRUE(WriteMetaImage(directory / "v.mha", volume).ok());
  EXPECT_EQ(ReadMetaImage(directory / "v.mha")->grid.nx, volume.grid.nx);
}

}  // namespace
}  // namespace isocenter::formats
