// libisocenter_rabbitct.so through the runner's interface, against kernels/reference.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/rabbitct/rabbitct.h"
#include "tests/opened_session.h"
#include "tests/rabbitct/mini_runner.h"

namespace isocenter::rabbitct_test {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr char kModule[] = RABBITCT_MODULE;
// More than twice what the module holds of runners with 70 images at once, and several batches
// of 31.
constexpr int kProjections = 150;

// What the public runner was compiled with.
static_assert(offsetof(RabbitCtGlobalData, A_n) == offsetof(GlobalData, A_n));
static_assert(offsetof(RabbitCtGlobalData, I_n) == offsetof(GlobalData, I_n));
static_assert(offsetof(RabbitCtGlobalData, R_L) == offsetof(GlobalData, R_L));
static_assert(offsetof(RabbitCtGlobalData, O_L) == offsetof(GlobalData, O_L));
static_assert(offsetof(RabbitCtGlobalData, f_L) == offsetof(GlobalData, f_L));
static_assert(offsetof(RabbitCtGlobalData, adv_numProjBuffers) ==
              offsetof(GlobalData, adv_numProjBuffers));
static_assert(offsetof(RabbitCtGlobalData, adv_pProjBuffers) ==
              offsetof(GlobalData, adv_pProjBuffers));
static_assert(sizeof(RabbitCtGlobalData) == offsetof(GlobalData, adv_N));

void Choose(const std::string& backend, const std::string& method) {
  setenv("ISOCENTER_RABBITCT_BACKEND", backend.c_str(), 1);
  setenv("ISOCENTER_RABBITCT_METHOD", method.c_str(), 1);
}

class Module : public testing::Test {
 protected:
  void SetUp() override { Choose("cpu", ""); }
  void TearDown() override { Choose("", ""); }
};

// Noise seen by a wobbling arm that cuts the corners of a 256 mm cube. The matrices have a scale
// and a sign of their own, as the format allows.
DataSet MakeDataSet() {
  constexpr Detector kDetector{.columns = 75, .rows = 58, .pitch_u_mm = 5, .pitch_v_mm = 5};
  const CircularOrbit orbit{.views = kProjections,
                            .source_to_isocenter_mm = 750,
                            .source_to_detector_mm = 1200,
                            .arc = 3.5};
  const auto trajectory = MakeWobblingOrbit(orbit, kDetector, 1, 5);
  EXPECT_TRUE(trajectory.ok()) << trajectory.status();
  DataSet data{.columns = 75, .rows = 58};
  std::mt19937 random(7);
  std::normal_distribution<float> noise;
  for (int i = 0; i < kProjections; ++i) {
    const double scale = (i % 2 == 0 ? 1 : -1) * (0.5 + 0.1 * (i % 45));
    std::array<double, 12> stored;
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 4; ++column) {
        stored[column * 3 + row] = scale * (*trajectory)[i](row, column);
      }
    }
    data.matrices.push_back(stored);
  }
  data.images.resize(size_t{kProjections} * 75 * 58);
  for (float& pixel : data.images) pixel = noise(random);
  return data;
}

// The same sum by the float64 reference. It divides by w² as it comes out of the matrix, so the
// scales are left in; only the sign must be its own.
std::vector<float> Reference(const DataSet& data, const RunOptions& options) {
  const auto session = OpenSession(Backends(), "reference", {});
  EXPECT_TRUE(session.ok());
  const int edge = static_cast<int>(options.voxels_per_edge);
  const double s = options.voxel_mm;
  const VolumeGrid grid = CenteredGrid(edge, edge, edge, {s, s, s});
  const Shape3 shape{kProjections, data.rows, data.columns};
  std::vector<ProjectionMatrix> matrices(data.matrices.size());
  for (size_t i = 0; i < matrices.size(); ++i) {
    const std::array<double, 12>& stored = data.matrices[i];
    for (size_t at = 0; at < 12; ++at) {
      matrices[i].m[at] = std::copysign(1, stored[11]) * stored[at % 4 * 3 + at / 4];
    }
  }
  auto stack = *(*session)->NewProjectionStack(shape, ops::StackUse::kProjections);
  auto volume = *(*session)->NewVolume(grid);
  EXPECT_TRUE(stack->Upload(0, {data.images.data(), shape}).ok());
  const auto backproject = *(*Backends().backproject.Find("reference"))(**session);
  EXPECT_TRUE(backproject->Run(matrices, *stack, *volume).ok());
  std::vector<float> result(static_cast<size_t>(grid.voxels()));
  EXPECT_TRUE(volume->Download(0, {result.data(), grid.shape()}).ok());
  return result;
}

double Largest(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max<double>(largest, std::abs(a[i] - b[i]));
  return largest;
}

double Rms(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(a[i] - b[i], 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

constexpr double kExactRms = 1e-3;  // of exact methods, see below

TEST_F(Module, EveryMethodMatchesTheReference) {
  const DataSet data = MakeDataSet();
  const RunOptions options{.voxels_per_edge = 33, .voxel_mm = 7.75f, .image_buffers = 70};
  const std::vector<float> expected = Reference(data, options), zero(expected.size());
  int checked = 0;
  for (const auto& entry : Backends().backproject.List()) {
    if (entry.backend == "reference" || !OpenDevices(entry.backend, {}).ok()) continue;
    Choose(entry.backend, entry.method);
    const auto outcome = RunModule(kModule, data, options);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    ASSERT_EQ(outcome->failed, "") << entry.backend << "/" << entry.method;
    // White noise shows every error of a position: exact methods may be off by a few 1e-4 pixels as
    // a rule, since voxels are 2.5 pixels here, and by 0.01 at worst, texture units by 1/256.
    // 3.0e-4 and 6.9e-3 were seen on the CPU.
    const bool exact = entry.precision == ops::Precision::kExact;
    EXPECT_LT(Rms(outcome->volume, expected), (exact ? kExactRms : 6e-3) * Rms(expected, zero))
        << entry.backend << "/" << entry.method;
    EXPECT_LT(Largest(outcome->volume, expected), (exact ? 2e-2 : 8e-2) * Rms(expected, zero))
        << entry.backend << "/" << entry.method;
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

TEST_F(Module, WorksForRunnersOfEveryAge) {
  const DataSet data = MakeDataSet();
  const auto newest = RunModule(kModule, data, {});
  ASSERT_TRUE(newest.ok()) << newest.status();
  ASSERT_EQ(newest->failed, "");
  EXPECT_GT(Rms(newest->volume, std::vector<float>(newest->volume.size())), 0);
  for (const RunOptions& options :
       {RunOptions{.prepare = false}, RunOptions{.own_volume = true},
        RunOptions{.image_buffers = 1}, RunOptions{.image_buffers = 70}, RunOptions{}}) {
    const auto outcome = RunModule(kModule, data, options);
    ASSERT_TRUE(outcome.ok());
    EXPECT_EQ(outcome->failed, "");
    EXPECT_EQ(outcome->volume, newest->volume);  // bit for bit: the batches are the same
  }
}

struct Failure {
  std::string function, message;
};

Failure RunBadly(const DataSet& data, const RunOptions& options) {
  testing::internal::CaptureStderr();
  const auto outcome = RunModule(kModule, data, options);
  return {outcome.ok() ? outcome->failed : outcome.status().ToString(),
          testing::internal::GetCapturedStderr()};
}

// Of the backends whose devices have memory of their own, those that have one here.
std::vector<std::string> BackendsWithOwnMemory() {
  std::vector<std::string> found;
  for (const char* backend : {"cuda"}) {
    const auto opened = OpenDevices(backend, {});
    if (opened.ok() && opened->devices[0]->traits().own_memory) found.emplace_back(backend);
  }
  return found;
}

TEST_F(Module, ImagesAreReadIntoItsBuffersOrCopied) {
  const DataSet data = MakeDataSet();
  const RunOptions options{.voxels_per_edge = 33, .voxel_mm = 7.75f, .image_buffers = 70};
  RunOptions old = options;
  old.takes_buffers = false;
  for (const std::string& backend : BackendsWithOwnMemory()) {
    Choose(backend, "");
    const auto read = RunModule(kModule, data, options), copied = RunModule(kModule, data, old);
    ASSERT_TRUE(read.ok() && copied.ok());
    ASSERT_EQ(read->failed + copied->failed, "");
    EXPECT_TRUE(read->images_of_module);
    EXPECT_FALSE(copied->images_of_module);
    EXPECT_EQ(read->volume, copied->volume);
  }
}

TEST_F(Module, AVolumeBeyondTheDevicesMemoryGoesThroughItInParts) {
  const DataSet data = MakeDataSet();
  for (const std::string& backend : BackendsWithOwnMemory()) {
    Choose(backend, "");
    for (const unsigned at_once : {20u, 70u}) {
      // The volume takes 1 MiB, two batches of images as much, and parts of 16 slices with one 1.1.
      const RunOptions options{.voxels_per_edge = 64, .voxel_mm = 4, .image_buffers = at_once};
      const std::vector<float> expected = Reference(data, options), zero(expected.size());
      setenv("ISOCENTER_RABBITCT_DEVICE_MEMORY_MIB", "2", 1);
      testing::internal::CaptureStdout();
      const auto outcome = RunModule(kModule, data, options);
      const std::string text = testing::internal::GetCapturedStdout();
      setenv("ISOCENTER_RABBITCT_DEVICE_MEMORY_MIB", "1", 1);
      const Failure failure = RunBadly(data, options);
      unsetenv("ISOCENTER_RABBITCT_DEVICE_MEMORY_MIB");
      ASSERT_TRUE(outcome.ok());
      ASSERT_EQ(outcome->failed, "");
      EXPECT_THAT(text, HasSubstr("in 4 parts of 16 slices"));
      EXPECT_LT(Rms(outcome->volume, expected), kExactRms * Rms(expected, zero));
      EXPECT_THAT(failure.message, HasSubstr("bytes of device memory; the limit is 1048576"));
    }
  }
}

TEST_F(Module, TheDeviceIsChosenAsByTheServer) {
  Choose("", "");
  testing::internal::CaptureStdout();
  const auto outcome = RunModule(kModule, MakeDataSet(), {});
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(outcome->failed, "");
  const auto chosen = OpenDevices("", {});  // all cores
  EXPECT_THAT(text, HasSubstr(chosen->reason));
  EXPECT_THAT(text, HasSubstr(chosen->devices[0]->description()));
  EXPECT_THAT(text, HasSubstr("150 projections"));
}

TEST_F(Module, RefusesWhatItCannotDoWithAMessage) {
  const DataSet good = MakeDataSet();
  Failure failure = RunBadly(good, {.voxels_per_edge = 0});
  EXPECT_EQ(failure.function, "RCTPrepareAlgorithm");
  EXPECT_THAT(failure.message, HasSubstr("L is 0; legal is 1 to 4096"));
  failure = RunBadly(good, {.voxels_per_edge = 4000000000u, .prepare = false});
  EXPECT_EQ(failure.function, "RCTLoadAlgorithm");
  EXPECT_THAT(failure.message, HasSubstr("L is 4000000000"));
  failure = RunBadly(good, {.voxel_mm = NAN});
  EXPECT_THAT(failure.message, HasSubstr("spacing"));

  DataSet bad = good;
  bad.columns = 0;
  EXPECT_THAT(RunBadly(bad, {}).message, HasSubstr("S_x is 0"));
  bad.columns = 10000;
  EXPECT_THAT(RunBadly(bad, {}).message, HasSubstr("S_x is 10000"));
  bad = good;
  bad.rows = 0;
  EXPECT_THAT(RunBadly(bad, {}).message, HasSubstr("S_y is 0"));

  for (const double value : {0.0, double{NAN}, double{INFINITY}}) {
    bad = good;
    bad.matrices[37].fill(value);
    failure = RunBadly(bad, {});
    EXPECT_EQ(failure.function, "RCTAlgorithmBackprojection");
    EXPECT_THAT(failure.message, HasSubstr("matrix of projection 37"));
  }

  Choose("abacus", "");
  failure = RunBadly(good, {});
  EXPECT_EQ(failure.function, "RCTPrepareAlgorithm");
  EXPECT_THAT(failure.message, HasSubstr("abacus"));
  EXPECT_THAT(failure.message, HasSubstr("cpu"));
  Choose("cpu", "fastest");
  EXPECT_THAT(RunBadly(good, {}).message, HasSubstr("'fastest'"));

  Choose("cpu", "");
  for (const char* value : {"0", "-1", "much", "16777217"}) {
    setenv("ISOCENTER_RABBITCT_DEVICE_MEMORY_MIB", value, 1);
    EXPECT_THAT(RunBadly(good, {}).message,
                HasSubstr(std::string("ISOCENTER_RABBITCT_DEVICE_MEMORY_MIB is \"") + value +
                          "\"; legal is 1 to 16777216"));
  }
  unsetenv("ISOCENTER_RABBITCT_DEVICE_MEMORY_MIB");
  EXPECT_EQ(RunModule(kModule, good, {})->failed, "");  // none of it has left traces
}

TEST_F(Module, CallsOutOfOrderAreRefused) {
  void* const library = dlopen(kModule, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  using Function = bool (*)(RabbitCtGlobalData*);
  const auto find = [&](const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
  };
  RabbitCtGlobalData data{.L = 8, .S_x = 4, .S_y = 4, .R_L = 1, .O_L = -3.5f};
  float image[16] = {};
  double matrix[12] = {};
  testing::internal::CaptureStderr();
  EXPECT_FALSE(find("RCTAlgorithmBackprojection")(&data));
  EXPECT_FALSE(find("RCTFinishAlgorithm")(&data));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("before RCTLoadAlgorithm"));
  testing::internal::CaptureStderr();
  EXPECT_FALSE(find("RCTLoadAlgorithm")(nullptr));
  ASSERT_TRUE(find("RCTLoadAlgorithm")(&data));
  data.A_n = matrix;
  EXPECT_FALSE(find("RCTAlgorithmBackprojection")(&data));  // no image
  data.I_n = image;
  data.A_n = nullptr;
  EXPECT_FALSE(find("RCTAlgorithmBackprojection")(&data));  // no matrix
  data.A_n = matrix;
  data.S_x = 400;
  EXPECT_FALSE(find("RCTAlgorithmBackprojection")(&data));  // another detector than before
  data.L = 9;
  EXPECT_FALSE(find("RCTFinishAlgorithm")(&data));  // another volume than before
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, HasSubstr("I_n is null"));
  EXPECT_THAT(text, HasSubstr("A_n is null"));
  EXPECT_THAT(text, HasSubstr("1600 pixels; legal is 4 x 4"));
  EXPECT_THAT(text, HasSubstr("L is 9; it was 8"));
  EXPECT_TRUE(find("RCTUnloadAlgorithm")(&data));
  EXPECT_EQ(data.f_L, nullptr);
  EXPECT_TRUE(find("RCTUnloadAlgorithm")(&data));
}

TEST_F(Module, ShowsNothingButTheInterface) {
  const std::string command = std::string("nm -D --defined-only ") + kModule;
  std::FILE* const nm = popen(command.c_str(), "r");
  ASSERT_NE(nm, nullptr);
  std::vector<std::string> names;
  char name[256];
  while (std::fscanf(nm, "%*s %*s %255s", name) == 1) names.emplace_back(name);
  if (pclose(nm) != 0) GTEST_SKIP() << "no nm here";
  EXPECT_THAT(names, UnorderedElementsAre("RCTPrepareAlgorithm", "RCTLoadAlgorithm",
                                          "RCTAlgorithmBackprojection", "RCTFinishAlgorithm",
                                          "RCTUnloadAlgorithm"));
}

}  // namespace
}  // namespace isocenter::rabbitct_test
