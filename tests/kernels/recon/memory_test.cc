// What a plan says that it takes is what making and executing it takes, for every method and
// algorithm, on a device that counts.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/units.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/plan_text.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/reference/device.h"
#include "tests/all_methods.h"
#include "tests/kernels/recon/counting_registry.h"

namespace isocenter::recon {
namespace {

// A prime that no sum of stacks and volumes makes up for.
constexpr int64_t kMore = 1000003;
constexpr int kViews = 30;

const ops::Registry& Counting() {
  static const auto* const registry = new ops::Registry(CountingRegistry(AllMethods(), kMore));
  return *registry;
}

// Those of this build, whether or not this machine has a device.
std::vector<std::string> AllBackends() {
  std::vector<std::string> backends;
  for (const auto& entry : AllMethods().preprocess.List()) backends.push_back(entry.backend);
  return backends;
}

// Layouts of the host's backends are theirs; devices with memory of their own have none.
std::shared_ptr<const ops::Device> Like(const std::string& backend) {
  if (backend == "cpu") return *AllMethods().OpenDevice("cpu", {.threads = 2});
  return std::make_shared<reference::ReferenceDevice>(ops::DeviceLimits{});
}

Acquisition Scan() {
  Acquisition acquisition{
      .detector = {.columns = 26, .rows = 56, .pitch_u_mm = 8, .pitch_v_mm = 3}};
  acquisition.trajectory = *MakeCircularOrbit({.views = kViews,
                                               .source_to_isocenter_mm = 600,
                                               .source_to_detector_mm = 1000,
                                               .arc = DegreesToRadians(348)},
                                              acquisition.detector);
  return acquisition;
}

const VolumeGrid kGrid = CenteredGrid(10, 9, 21, {8, 8, 8});

struct Frames {
  explicit Frames(const Acquisition& acquisition)
      : shape{kViews, acquisition.detector.rows, acquisition.detector.columns},
        counts(shape.count(), 1000) {}
  ops::RawFrames raw() const { return {.counts = {counts.data(), shape}}; }
  Shape3 shape;
  std::vector<uint16_t> counts;
};

/// One or more devices that count.
struct Machine {
  Machine(const std::string& backend, bool own_memory, int count, int64_t memory_bytes) {
    for (int i = 0; i < count; ++i) {
      devices.push_back(
          std::make_unique<CountingDevice>(backend, Like(backend), own_memory, memory_bytes));
      all.push_back(devices.back().get());
    }
  }
  int64_t DeviceBytes() const {
    int64_t most = 0;
    for (const auto& device : devices) {
      most = std::max(most, device->counted().device + device->counted().workspace);
    }
    return most;
  }
  int64_t HostBytes() const {
    int64_t sum = 0;
    for (const auto& device : devices) sum += device->counted().host;
    return sum;
  }
  std::vector<std::unique_ptr<CountingDevice>> devices;
  std::vector<ops::Device*> all;
};

int64_t BytesOf(const MemoryParts& parts, absl::string_view what) {
  int64_t bytes = 0;
  for (const MemoryPart& part : parts) {
    if (part.what == what) bytes += part.bytes;
  }
  return bytes;
}

constexpr int64_t kAmple = int64_t{1} << 40;

class FdkMemory : public testing::TestWithParam<std::string> {
 protected:
  /// False: the devices have too little memory.
  static bool Hold(const FdkSettings& settings, Arrival arrival, bool own_memory, int devices,
                   int64_t memory_bytes) {
    const Acquisition acquisition = Scan();
    Machine machine(GetParam(), own_memory, devices, memory_bytes);
    const auto plan = MakePlan(acquisition, kGrid, settings, Counting(), machine.all, arrival);
    if (!plan.ok()) {
      EXPECT_EQ(plan.status().code(), absl::StatusCode::kResourceExhausted) << plan.status();
      return false;
    }
    SCOPED_TRACE(PlanText(*plan));
    EXPECT_EQ(plan->peak_bytes, TotalBytes(plan->device_parts));
    EXPECT_EQ(plan->host_bytes, TotalBytes(plan->host_parts));
    EXPECT_LE(plan->peak_bytes, memory_bytes);
    {
      auto made = Reconstructor::Create(*plan, Counting(), machine.all, {.preview = true});
      EXPECT_TRUE(made.ok()) << made.status();
      const Frames frames(acquisition);
      std::vector<float> volume(kGrid.voxels());
      const HostView3<float> voxels(volume.data(), kGrid.shape());
      if (arrival == Arrival::kComplete) {
        EXPECT_TRUE((*made)->Run(frames.raw(), voxels).ok());
      } else {
        for (const Chunk& chunk : plan->chunks) {
          EXPECT_TRUE((*made)->Push(frames.raw().views(chunk.first_view, chunk.views)).ok());
        }
        EXPECT_TRUE((*made)->Finish(voxels).ok());
      }
    }
    ExpectCounted(*plan, machine);
    return true;
  }

  static void ExpectCounted(const ReconstructionPlan& plan, const Machine& machine) {
    EXPECT_EQ(machine.HostBytes(), BytesOf(plan.host_parts, "frames that are needed again"));
    EXPECT_LE(machine.DeviceBytes(), plan.peak_bytes);
    const ops::Device& device = *machine.all[0];
    const Detector& d = plan.acquisition.detector;
    int64_t slack = 0;
    if (device.traits().own_memory) {
      // Room for a preview of other rows than the slabs', which not every plan needs, and its share
      // of the operations' memory, which they have already.
      const Shape3 view{1, d.rows, d.columns};
      const FdkMethods methods = *FdkMethods::Find(plan.settings, d, Counting(), device.backend());
      slack += methods.WorkspaceBytes(device, {.stack = view, .grid = plan.grid}) +
               device.ProjectionStackBytes(view, ops::StackUse::kLineIntegrals) +
               device.ProjectionStackBytes(view, ops::StackUse::kProjections);
    }
    // Where all filtered projections stay, the stack of a chunk is theirs.
    if (plan.keep_projections) {
      slack += device.ProjectionStackBytes({LargestChunk(plan), d.rows, d.columns},
                                           ops::StackUse::kProjections);
    }
    EXPECT_GE(machine.DeviceBytes(), plan.peak_bytes - slack);
  }
};

TEST_P(FdkMemory, OfEveryMethodIsThePlans) {
  for (const auto& entry : Counting().backproject.List()) {
    if (entry.backend != GetParam()) continue;
    SCOPED_TRACE(entry.method);
    EXPECT_TRUE(Hold({.backproject_method = entry.method}, Arrival::kStreamed, false, 1, kAmple));
    for (const Arrival arrival : {Arrival::kStreamed, Arrival::kComplete}) {
      for (const int devices : {1, 2}) {
        int64_t memory_bytes = int64_t{64} << 20;
        int ways = 0;
        for (; Hold({.truncation = ops::Truncation::kMirror, .backproject_method = entry.method},
                    arrival, true, devices, memory_bytes);
             memory_bytes = memory_bytes * 97 / 100) {
          ++ways;
        }
        EXPECT_GT(ways, 10);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, FdkMemory, testing::ValuesIn(AllBackends()),
                         [](const auto& info) { return info.param; });

using Case = std::tuple<std::string, Algorithm>;

class RefinementMemory : public testing::TestWithParam<Case> {
 protected:
  static std::string backend() { return std::get<0>(GetParam()); }

  /// False: the devices have too little memory.
  static bool Hold(const IterativeSettings& settings, bool own_memory, int devices,
                   int64_t memory_bytes) {
    const Acquisition acquisition = Scan();
    Machine machine(backend(), own_memory, devices, memory_bytes);
    const auto plan = MakeRefinementPlan(acquisition, kGrid, {}, settings, Counting(), machine.all);
    if (!plan.ok()) {
      EXPECT_EQ(plan.status().code(), absl::StatusCode::kResourceExhausted) << plan.status();
      return false;
    }
    SCOPED_TRACE(PlanText(*plan));
    EXPECT_EQ(plan->peak_bytes, TotalBytes(plan->device_parts));
    EXPECT_EQ(plan->host_bytes, TotalBytes(plan->host_parts));
    EXPECT_LE(plan->peak_bytes, memory_bytes);
    const Frames frames(acquisition);
    std::vector<float> volume(kGrid.voxels());
    const auto reports =
        RefineAll(*plan, Counting(), machine.all, frames.raw(), {volume.data(), kGrid.shape()});
    EXPECT_TRUE(reports.ok()) << reports.status();
    EXPECT_LE(machine.DeviceBytes(), plan->peak_bytes);
    // Pieces of two grids may have their longest axes in different directions.
    if (settings.surroundings_factor == 0) {
      EXPECT_EQ(machine.DeviceBytes(), plan->peak_bytes);
    }
    EXPECT_EQ(machine.HostBytes(), BytesOf(plan->host_parts, "staging of frames") +
                                       BytesOf(plan->host_parts, "volumes that wait") +
                                       BytesOf(plan->host_parts, "projections that wait"));
    return true;
  }

  static IterativeSettings Settings() {
    IterativeSettings settings{
        .algorithm = std::get<1>(GetParam()), .iterations = 2, .warm_start = false, .tv_steps = 2};
    switch (settings.algorithm) {
      case Algorithm::kOsSart:
      case Algorithm::kOsSqs:
      case Algorithm::kAsdPocs:
        settings.subsets = 4;
        settings.prior_strength = settings.algorithm == Algorithm::kOsSart ? 0 : 1;
        break;
      case Algorithm::kFistaTv:
        settings.prior_strength = 1;
        break;
      default:
        break;
    }
    return settings;
  }
};

TEST_P(RefinementMemory, OfEveryProjectorIsThePlans) {
  for (const ops::ProjectorModel model : ops::kProjectorModels) {
    for (const ops::Precision precision : {ops::Precision::kExact, ops::Precision::kFast}) {
      IterativeSettings settings = Settings();
      settings.projector = model;
      settings.precision = precision;
      SCOPED_TRACE(ops::ProjectorName(model));
      EXPECT_TRUE(Hold(settings, false, 1, kAmple));
      EXPECT_TRUE(Hold(settings, false, 2, kAmple));
      settings.matched = false;
      if (ValidateIterativeSettings(settings).ok()) EXPECT_TRUE(Hold(settings, false, 1, kAmple));
    }
  }
}

TEST_P(RefinementMemory, OfEverySettingIsThePlans) {
  for (const int surroundings : {0, 2}) {
    for (const bool weights : {false, true}) {
      IterativeSettings settings = Settings();
      settings.surroundings_factor = surroundings;
      settings.statistical_weights = weights;
      if (!ValidateIterativeSettings(settings).ok()) continue;
      EXPECT_TRUE(Hold(settings, false, 1, kAmple));
      EXPECT_TRUE(Hold(settings, false, 3, kAmple));
      settings.momentum = 0.5;
      if (ValidateIterativeSettings(settings).ok()) EXPECT_TRUE(Hold(settings, false, 1, kAmple));
    }
  }
}

TEST_P(RefinementMemory, OfEveryWayOfKeepingVectorsIsThePlans) {
  for (const int devices : {1, 2}) {
    int ways = 0;
    for (int64_t memory_bytes = int64_t{64} << 20; Hold(Settings(), true, devices, memory_bytes);
         memory_bytes = memory_bytes * 95 / 100) {
      ++ways;
    }
    EXPECT_GT(ways, 10);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RefinementMemory,
    testing::Combine(testing::ValuesIn(AllBackends()),
                     testing::Values(Algorithm::kSirt, Algorithm::kSart, Algorithm::kOsSart,
                                     Algorithm::kCgls, Algorithm::kLsqr, Algorithm::kOsSqs,
                                     Algorithm::kAsdPocs, Algorithm::kFistaTv)),
    [](const auto& info) {
      return absl::StrCat(std::get<0>(info.param), "_", AlgorithmName(std::get<1>(info.param)));
    });

}  // namespace
}  // namespace isocenter::recon
