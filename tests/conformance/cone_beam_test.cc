// What a second pass against the cone-beam artefact does with volumes, on the host and by every
// backend that can, against the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/recon/second_pass/cone_beam/cone_beam_artefact.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_model.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_on_device.h"
#include "tests/conformance/conformance.h"

namespace isocenter::conformance {
namespace {

using recon::ConeBeamFindings;
using recon::SeenSlices;

constexpr double kMuWater = 0.0193;
// Attenuations are sums of up to 36 values of up to 0.05/mm.
constexpr double kModelTolerance = 3e-8;
// Float32 roundings of values of some 1000 HU, with a table twice.
constexpr double kHuTolerance = 2e-3;

struct Case {
  int merge = 1, merge_slices = 1, more_below = 0;
  int nx = 0, ny = 0, nz = 0;  // of the volume
  double tilt = 0;             // of the slices, radians
  ops::HounsfieldTable table;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {.nx = 17, .ny = 9, .nz = 11},
      {.merge = 2, .merge_slices = 2, .more_below = 3, .nx = 70, .ny = 41, .nz = 37},
      {.merge = 3, .merge_slices = 4, .more_below = 2, .nx = 40, .ny = 50, .nz = 33, .tilt = 0.17},
      {.merge = 2,
       .merge_slices = 1,
       .more_below = 1,
       .nx = 33,
       .ny = 34,
       .nz = 15,
       .tilt = -0.1,
       .table = {{{-1000, -990}, {0, 5}, {1000, 900}}}}};
  return cases;
}

VolumeGrid TiltedGrid(int nx, int ny, int nz, Vec3 spacing, double tilt) {
  VolumeGrid grid = CenteredGrid(nx, ny, nz, spacing);
  const double c = std::cos(tilt), s = std::sin(tilt);
  grid.direction = {c, 0, s, 0, 1, 0, -s, 0, c};
  return grid;
}

recon::SecondPassPlan PlanOf(const Case& c) {
  const auto merged = [](int count, int merge) { return (count + merge - 1) / merge; };
  recon::SecondPassPlan plan;
  plan.grid = TiltedGrid(c.nx, c.ny, c.nz, {0.5, 0.5, 0.4}, c.tilt);
  plan.warm_start.emplace().hounsfield = {.mu_water_per_mm = kMuWater, .table = c.table};
  recon::ConeBeamPlan& own = plan.cone_beam.emplace();
  own.merge = c.merge;
  own.merge_slices = c.merge_slices;
  own.more_below = c.more_below;
  own.model.grid = TiltedGrid(merged(c.nx, c.merge), merged(c.ny, c.merge),
                              c.more_below + merged(c.nz, c.merge_slices) + 2,
                              {0.5 * c.merge, 0.5 * c.merge, 0.4 * c.merge_slices}, c.tilt);
  own.model.hounsfield.mu_water_per_mm = kMuWater;
  own.radius_mm = 10;
  own.source_mm = 100;
  own.known_from_mm = -5;
  own.known_to_mm = 4;
  return plan;
}

// Columns that are known as a whole, in part, and not at all.
SeenSlices SomeSeen(const recon::ConeBeamPlan& plan) {
  const VolumeGrid& grid = plan.model.grid;
  const int last = grid.nz - 3;
  SeenSlices seen;
  for (int y = 0; y < grid.ny; ++y) {
    for (int x = 0; x < grid.nx; ++x) {
      const bool none = x + y < 3 || (x == 7 && y == 5);
      seen.first.push_back(none ? last + 1 : plan.more_below + (x + y) % 4);
      seen.last.push_back(none ? plan.more_below : last - x % 3);
    }
  }
  return seen;
}

// Air, soft tissue and bone in pieces, with noise. Merged voxels lie in one of them: half air and
// half water would be object or not by rounding.
Array Head(Shape3 shape) {
  Array volume = Noise(shape, 91);
  for (int64_t i = 0; i < shape.count(); ++i) {
    const int64_t x = i % shape.fast, y = i / shape.fast % shape.middle,
                  z = i / shape.fast / shape.middle;
    const float kinds[] = {-1000, 40, 1200, -300};
    volume.values[i] = 60 * volume.values[i] + kinds[(x / 12 + y / 12 + z / 16) % 4];
  }
  return volume;
}

// What a model's reconstruction may be: its HU, an artefact that grows with the height, noise.
Array Reconstructed(const Array& model) {
  Array volume = Noise(model.shape, 92);
  const int64_t slice = model.shape.middle * model.shape.fast;
  for (int64_t i = 0; i < model.shape.count(); ++i) {
    const double away = static_cast<double>(i / slice) - static_cast<double>(model.shape.slow) / 2;
    volume.values[i] =
        static_cast<float>(1000 * (model.values[i] / kMuWater - 1) +
                           2 * away * std::sin(0.3 * double(i % slice)) + 3 * volume.values[i]);
  }
  return volume;
}

struct Outcome {
  Array model;
  double cut = 0;
  Array artefact;
  ConeBeamFindings findings;
  Array volume;
};

Outcome OnHost(const recon::SecondPassPlan& plan, const SeenSlices& seen,
               const Array& reconstructed) {
  const recon::ConeBeamPlan& own = *plan.cone_beam;
  ThreadPool threads(2);
  Array volume = Head(plan.grid.shape()), model(own.model.grid.shape());
  const ops::HounsfieldScale& scale = plan.warm_start->hounsfield;
  MakeConeBeamModel(own, plan.grid, scale, volume.view(), seen, threads, model.view());
  const recon::ModelSides sides = FindSides(own, seen);
  const double cut = sides.Cut(CountCut(own, seen, sides, model.view()));
  Array artefact = model, scratch(model.shape);
  Array made = reconstructed;
  const ConeBeamFindings findings =
      FindArtefact(own, seen, threads, artefact.view(), made.view(), scratch.view());
  TakeOffArtefact(own, scale, artefact.view(), threads, volume.view());
  return {model, cut, artefact, findings, volume};
}

// `reconstructed` null: that of its own model.
Outcome OnDevice(const std::string& backend, const recon::SecondPassPlan& plan,
                 const SeenSlices& seen, const Array* reconstructed) {
  const auto session = OpenSession(backend);
  // Several turns of some slices each.
  const int64_t bytes = 6 * recon::StagedCopies::LeastBytes(plan.grid);
  const auto locked = *session->device().NewHostMemory(bytes);
  ThreadPool threads(2);
  recon::StagedCopies copies(*session, threads,
                             {reinterpret_cast<float*>(locked->data()), bytes / sizeof(float)});
  const auto made = recon::ConeBeamOnDevice::Create(plan, AllMethods(), *session, copies);
  EXPECT_TRUE(made.ok()) << made.status();
  recon::ConeBeamOnDevice& pass = **made;
  const Array head = Head(plan.grid.shape());
  EXPECT_TRUE(pass.Upload(head.view()).ok());
  const auto volume = NewVolume(*session, plan.cone_beam->model.grid);
  const absl::StatusOr<double> cut = pass.MakeModel(seen, *volume);
  EXPECT_TRUE(cut.ok()) << cut.status();
  const Array model = Downloaded(*volume);
  const Array from = reconstructed == nullptr ? Reconstructed(model) : *reconstructed;
  const absl::StatusOr<ConeBeamFindings> findings = pass.TakeOff(seen, from.view(), *volume);
  EXPECT_TRUE(findings.ok()) << findings.status();
  Array corrected(plan.grid.shape());
  EXPECT_TRUE(pass.Download(corrected.view()).ok());
  return {model, *cut, Downloaded(*volume), *findings, corrected};
}

double LargestDifference(const Array& got, const Array& expected) {
  double largest = 0;
  for (size_t i = 0; i < got.values.size(); ++i) {
    const double difference = std::abs(double{got.values[i]} - expected.values[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

constexpr const char* kHost = "host";

std::vector<std::string> ImplementationsUnderTest() {
  std::vector<std::string> all = {kHost};
  for (const Method& method : MethodsUnderTest(AllMethods().cone_beam)) {
    all.push_back(method.backend);
  }
  return all;
}

class ConeBeamTest : public testing::TestWithParam<std::string> {};

TEST_P(ConeBeamTest, AgreesWithReference) {
  for (const Case& c : Cases()) {
    SCOPED_TRACE(testing::Message() << "merged " << c.merge << ", " << c.merge_slices);
    const recon::SecondPassPlan plan = PlanOf(c);
    const SeenSlices seen = SomeSeen(*plan.cone_beam);
    const Outcome expected = OnDevice("reference", plan, seen, nullptr);
    const Array reconstructed = Reconstructed(expected.model);
    const Outcome got = GetParam() == kHost ? OnHost(plan, seen, reconstructed)
                                            : OnDevice(GetParam(), plan, seen, &reconstructed);
    EXPECT_LT(LargestDifference(got.model, expected.model), kModelTolerance);
    EXPECT_GT(expected.cut, 0);
    EXPECT_EQ(got.cut, expected.cut);
    EXPECT_LT(LargestDifference(got.artefact, expected.artefact), kHuTolerance);
    EXPECT_LT(LargestDifference(got.volume, expected.volume), kHuTolerance);
    // Something is taken off, and not all.
    EXPECT_GT(expected.findings.rms_hu, 0.3);
    EXPECT_GT(expected.findings.unsure_hu, 0.01);
    EXPECT_NEAR(got.findings.rms_hu, expected.findings.rms_hu, 1e-4);
    EXPECT_NEAR(got.findings.most_hu, expected.findings.most_hu, kHuTolerance);
    EXPECT_NEAR(got.findings.unsure_hu, expected.findings.unsure_hu, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Implementations, ConeBeamTest,
                         testing::ValuesIn(ImplementationsUnderTest()),
                         [](const auto& info) { return info.param; });

TEST(ConeBeamMethods, RefuseWhatIsIllegal) {
  for (const auto& entry : AllMethods().cone_beam.List()) {
    const auto& tested = BackendsUnderTest();
    if (std::find(tested.begin(), tested.end(), entry.backend) == tested.end()) continue;
    SCOPED_TRACE(entry.backend);
    const auto session = OpenSession(entry.backend);
    const auto other = OpenSession("reference");
    const VolumeGrid fine = CenteredGrid(8, 6, 5, {1, 1, 1}),
                     coarse = CenteredGrid(4, 3, 4, {2, 2, 2}),
                     low = CenteredGrid(4, 3, 3, {2, 2, 2}),
                     wide = CenteredGrid(5, 3, 4, {2, 2, 2});
    const ops::ConeBeamSpec spec{.merge = 2,
                                 .merge_slices = 2,
                                 .more_below = 1,
                                 .first = std::vector(12, 1),
                                 .last = std::vector(12, 3),
                                 .heights = {.first = 0, .per_index = {0, 0, 1}, .count = 5}};
    const auto operation = *entry.factory(*session, spec);
    const auto volume = NewVolume(*session, fine), model = NewVolume(*session, coarse);
    const auto flat = NewVolume(*session, low), broad = NewVolume(*session, wide);
    const auto foreign = NewVolume(*other, coarse), foreign_volume = NewVolume(*other, fine);
    const std::vector<float> shares(5, 1.F), fewer(4, 1.F);
    const std::vector<int> columns = {0, 11}, beyond = {12}, below = {-1};
    EXPECT_TRUE(operation->MakeModel(*volume, *model).ok());
    EXPECT_EQ(*operation->CountDense(columns, 0.5 * kMuWater, *model), 6);
    EXPECT_EQ(*operation->CountDense({}, 0, *model), 0);
    for (const absl::Status& status :
         {operation->MakeModel(*volume, *flat), operation->MakeModel(*volume, *broad),
          operation->MakeModel(*volume, *foreign), operation->MakeModel(*foreign_volume, *model),
          operation->CountDense(beyond, 0, *model).status(),
          operation->CountDense(below, 0, *model).status(),
          operation->CountDense(columns, 0, *foreign).status(),
          operation->Find(*model, *flat).status(), operation->Find(*foreign, *model).status(),
          operation->Find(*model, *foreign).status(), operation->Keep(fewer, *model).status(),
          operation->Keep(shares, *broad).status(), operation->Keep(shares, *foreign).status(),
          operation->TakeOff(*flat, *volume), operation->TakeOff(*foreign, *volume),
          operation->TakeOff(*model, *foreign_volume)}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    }
  }
}

}  // namespace
}  // namespace isocenter::conformance
