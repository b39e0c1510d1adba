// What is too large for this machine is refused in words, whatever asks for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/formats/raw_volume.h"
#include "kernels/base/host_memory.h"
#include "tests/client/command.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// While it lives, programs that are started have so much address space.
class AddressSpace {
 public:
  explicit AddressSpace(rlim_t bytes) {
    getrlimit(RLIMIT_AS, &before_);
    const rlimit less{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_AS, &less);
  }
  ~AddressSpace() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

std::string Bundle(const TemporaryDirectory& directory) {
  const std::string bundle = directory / "bundle";
  const Outcome made = RunCommand({"simulate", "--phantom", "cylinder", "--out", bundle, "--frames",
                                   "8", "--detector", "39x30", "--pitch-mm", "10"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  return bundle;
}

TEST(Memory, AVolumeThatIsTooLargeIsRefusedBeforeAnythingIsTaken) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need their own address space";
  TemporaryDirectory directory;
  const std::string bundle = Bundle(directory), out = directory / "v.mha";
  const AddressSpace less(rlim_t{3} << 30);
  for (const std::vector<std::string>& size :
       {std::vector<std::string>{"--size", "2048"},
        {"--grid", "4096x4096x4096", "--voxel-mm", "0.1"},
        {"--size", "1024", "--algorithm", "sirt", "--iterations", "1"}}) {
    std::vector<std::string> arguments{"reconstruct", "--overwrite", bundle, "--out",
                                       out,           "--backend",   "cpu"};
    arguments.insert(arguments.end(), size.begin(), size.end());
    const Outcome outcome = RunCommand(arguments);
    EXPECT_EQ(outcome.exit_code, 1) << size[1] << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(ContainsRegex("a volume of [0-9]+x[0-9]+x[0-9]+"),
                                   ContainsRegex("needs [0-9.]+ [GT]iB of memory; .*[0-9]+"),
                                   HasSubstr("choose a smaller --size or --grid")));
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Memory, ThePlanIsPrintedBeforeItIsRefused) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need their own address space";
  TemporaryDirectory directory;
  const std::string bundle = Bundle(directory);
  const AddressSpace less(rlim_t{3} << 30);
  const Outcome outcome =
      RunCommand({"reconstruct", "--overwrite", bundle, "--out", directory / "v.mha", "--backend",
                  "cpu", "--size", "800", "--print-plan"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("host memory: "));
  EXPECT_THAT(outcome.err, HasSubstr(" are available"));
}

// No reader takes memory for what a header only claims.
TEST(Memory, ClaimsOfLargeFilesEndInASentence) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need their own address space";
  TemporaryDirectory directory;
  const std::string mha = directory / "v.mha", nii = directory / "v.nii.gz";
  WriteBytes(mha,
             "NDims = 3\nDimSize = 4096 4096 4096\nElementType = MET_CHAR\n"
             "CompressedData = True\nElementDataFile = LOCAL\n");
  std::filesystem::resize_file(mha, 64 << 20);
  std::string header(352, '\0');
  const auto set = [&](size_t at, auto value) { std::memcpy(&header[at], &value, sizeof value); };
  set(0, int32_t{348});
  set(40, int16_t{3});
  for (const size_t at : {42, 44, 46}) set(at, int16_t{4096});
  set(70, int16_t{2});
  for (const size_t at : {76, 80, 84, 88}) set(at, 1.0f);
  set(108, 352.0f);
  std::memcpy(&header[344], "n+1", 4);
  gzFile file = gzopen(nii.c_str(), "wb");
  gzwrite(file, header.data(), header.size());
  gzclose(file);
  std::filesystem::resize_file(nii, 64 << 20);
  const AddressSpace less(rlim_t{2} << 30);
  for (const std::string& volume : {mha, nii}) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"compare", volume, "--phantom", "head"},
          {"compare", volume, "--truth", volume},
          {"render", volume, "--out", directory / "s.png"},
          {"simulate", "--volume", volume, "--out", directory / "b"}}) {
      const Outcome outcome = RunCommand(command);
      EXPECT_EQ(outcome.exit_code, 1) << command[0] << outcome.err;
      EXPECT_THAT(outcome.err, AllOf(HasSubstr(volume), HasSubstr("68719476736 voxels needs")));
    }
  }
}

// What no plan counts, like the copies of a picture.
TEST(Memory, WithoutItACommandEndsInASentence) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need their own address space";
  TemporaryDirectory directory;
  const std::string volume = directory / "v.mha", out = directory / "s.png";
  WriteBytes(volume,
             "NDims = 3\nDimSize = 256 256 256\nElementType = MET_FLOAT\n"
             "ElementDataFile = LOCAL\n");
  std::filesystem::resize_file(volume, std::filesystem::file_size(volume) + (64 << 20));
  bool was_short = false;
  for (const int mib : {180, 200, 220, 240, 260, 280, 300}) {
    const std::string said = directory / "said";
    const int status = std::system(  // NOLINT: a limit that the test itself could not live with
        absl::StrCat("ulimit -v ", mib * 1024, "; ", ISOCENTER_BINARY, " render ", volume,
                     " --truth ", volume, " --out ", out, " 2>", said)
            .c_str());
    ASSERT_TRUE(WIFEXITED(status)) << mib;
    EXPECT_LE(WEXITSTATUS(status), 1) << mib << ReadBytes(said);
    was_short |= absl::StartsWith(ReadBytes(said), "isocenter: out of memory: ");
  }
  EXPECT_TRUE(was_short);
}

TEST(Memory, RawVolumesHaveTheSizeThatIsStated) {
  TemporaryDirectory directory;
  WriteBytes(directory / "v.raw", "12345678");
  const auto error = [&](int nx, int ny, int nz) {
    return std::string(formats::ReadRawVolume(directory / "v.raw", {.nx = nx, .ny = ny, .nz = nz})
                           .status()
                           .message());
  };
  EXPECT_THAT(error(4096, 4096, 4096), HasSubstr("137438953472"));
  EXPECT_THAT(error(1 << 30, 1 << 30, 16), HasSubstr("legal is 1 to 4096"));
  EXPECT_THAT(error(-2, -2, 1), HasSubstr("legal is 1 to 4096"));
  EXPECT_THAT(error(0, 1, 1), HasSubstr("legal is 1 to 4096"));
}

TEST(Memory, AvailableMemoryIsWhatTheLimitsLeave) {
  EXPECT_GT(AvailableMemoryBytes(), 0);
  EXPECT_TRUE(CheckAvailableMemory("it", 1).ok());
  const absl::Status status = CheckAvailableMemory("it", int64_t{1} << 60);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()),
              ContainsRegex("^it needs 1 EiB of memory; [0-9.]+ [A-Za-z]+ are available$"));
}

}  // namespace
}  // namespace isocenter::client_test
