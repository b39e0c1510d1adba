#include <gtest/gtest.h>

#include <algorithm>

#include "tests/conformance/projectors.h"

namespace isocenter::conformance {
namespace {

class ProjectTest : public testing::TestWithParam<ProjectorMethod> {
 protected:
  static Direction direction() { return GetParam().direction; }
  static bool forward() { return direction() == Direction::kForward; }
  static Array Input(const ProjectCase& geometry, uint32_t seed) {
    return InputFor(direction(), geometry, seed);
  }
  // The same bits; of methods that add up in any order, the same to rounding: up to some thousand
  // terms in float32 of which little may be left. 6e-5 was seen.
  static void ExpectSame(const Array& got, const Array& expected, const ProjectCase& geometry) {
    if (GetParam().method.order == ops::Order::kFixed) {
      EXPECT_EQ(got.values, expected.values);
    } else {
      EXPECT_LT(Compare(got, expected).largest, 2e-4 * geometry.looser);
    }
  }
};

TEST(ProjectorMethods, AreUnderTest) { EXPECT_FALSE(ProjectorsUnderTest().empty()); }

// White noise is the hardest input: a position that is wrong by d pixels or voxels is an error of d
// times a slope of about 1. float32 knows where a ray from 1000 voxels away is to 6e-5, and rays
// differ by less where a method takes its source or the middle of the grid for the origin. Siddon's
// lengths are differences of such positions divided by the direction's component, which may be
// small. Linear up to `nonlinear`: sums of about 100 terms in float32.
struct Tolerance {
  double rms, largest, nonlinear;
};
constexpr Tolerance kExactTolerance{1e-4, 3e-3, 1e-5};
constexpr Tolerance kSiddonTolerance{3e-4, 1e-2, 1e-5};
// Weights that are off by up to 1/256 along each axis, all to one side where many rays share what
// is fetched: with samples of a rms of about a half, √2/256 of that is 1.1e-2. Voxels or pixels
// are rounded to float16, by up to 2^-12 of themselves. A ray that sees a few voxels has all of the
// error of their weights, where the mean is taken over many rays that see nothing.
constexpr Tolerance kFastTolerance{1.1e-2, 0.15, 1e-2};

Tolerance ToleranceFor(const ProjectCase& geometry, const ProjectorMethod& method) {
  Tolerance tolerance = method.method.precision == ops::Precision::kFast ? kFastTolerance
                        : method.model == ops::ProjectorModel::kSiddon   ? kSiddonTolerance
                                                                         : kExactTolerance;
  tolerance.rms *= geometry.looser;
  tolerance.largest *= geometry.looser;
  // Eight times as many terms.
  if (method.model == ops::ProjectorModel::kVoxelDrivenSplit) tolerance.nonlinear *= 2;
  return tolerance;
}

TEST_P(ProjectTest, AgreesWithReference) {
  for (const ProjectCase& geometry : ProjectCases()) {
    SCOPED_TRACE(geometry.name);
    const Difference difference =
        Compare(Apply(GetParam(), geometry, Input(geometry, 51)),
                ReferenceOfInput(GetParam().model, direction(), geometry, 51));
    const Tolerance tolerance = ToleranceFor(geometry, GetParam());
    EXPECT_LT(difference.rms, tolerance.rms);
    EXPECT_LT(difference.largest, tolerance.largest);
  }
}

TEST_P(ProjectTest, AddsToWhatIsThere) {
  const ProjectCase geometry = ProjectCases().front();
  const Array input = Input(geometry, 52);
  // Of the size of what is added.
  Array start = Noise(OutputShape(direction(), geometry), 53);
  for (float& value : start.values) value *= 3;
  const Array alone = Apply(GetParam(), geometry, input);
  Array expected = start;
  for (size_t i = 0; i < expected.values.size(); ++i) expected.values[i] += alone.values[i];
  EXPECT_LT(Compare(Apply(GetParam(), geometry, input, &start), expected).largest, 1e-5);
}

TEST_P(ProjectTest, IsLinear) {
  const ProjectCase geometry = ProjectCases().front();
  const Array a = Input(geometry, 54), b = Input(geometry, 55);
  Array sum = a;
  for (size_t i = 0; i < sum.values.size(); ++i) {
    sum.values[i] = 2 * a.values[i] - b.values[i] / 2;
  }
  const Array of_sum = Apply(GetParam(), geometry, sum);
  const Array of_a = Apply(GetParam(), geometry, a), of_b = Apply(GetParam(), geometry, b);
  Array expected = of_sum;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    expected.values[i] = 2 * of_a.values[i] - of_b.values[i] / 2;
  }
  EXPECT_LT(Compare(of_sum, expected).largest, ToleranceFor(geometry, GetParam()).nonlinear);
}

// The same bits again, and for any number of threads.
TEST_P(ProjectTest, IsReproducible) {
  for (const ProjectCase& geometry : ProjectCases()) {
    SCOPED_TRACE(geometry.name);
    const Array input = Input(geometry, 51);
    const Array one = Apply(GetParam(), geometry, input, nullptr, 1);
    ExpectSame(Apply(GetParam(), geometry, input, nullptr, 2), one, geometry);
    ExpectSame(Apply(GetParam(), geometry, input, nullptr, 3), one, geometry);
  }
}

// A view's projection is the same bits with others or alone. What several views add to a voxel may
// be added up in another order when they come in several calls.
TEST_P(ProjectTest, ViewsMayComeInSeveralCalls) {
  for (const ProjectCase& geometry : ProjectCases()) {
    SCOPED_TRACE(geometry.name);
    const Array input = Input(geometry, 51);
    const Array whole = Apply(GetParam(), geometry, input);
    Array in_parts(OutputShape(direction(), geometry));
    for (int64_t view = 0; view < geometry.detector.slow;) {
      const int64_t count = std::min<int64_t>(1 + view % 3, geometry.detector.slow - view);
      BackprojectCase part = geometry;
      part.detector.slow = count;
      part.matrices.assign(geometry.matrices.begin() + view,
                           geometry.matrices.begin() + view + count);
      if (forward()) {
        const Array seen = Apply(GetParam(), part, input);
        std::copy(seen.values.begin(), seen.values.end(), in_parts.view().row(view, 0));
      } else {
        Array pixels(part.detector);
        std::copy_n(input.view().row(view, 0), pixels.values.size(), pixels.values.begin());
        in_parts = Apply(GetParam(), part, pixels, &in_parts);
      }
      view += count;
    }
    if (forward()) {
      ExpectSame(in_parts, whole, geometry);
    } else {
      EXPECT_LT(Compare(in_parts, whole).largest, 1e-5 * geometry.looser);
    }
  }
}

// What a grid gives is the sum of what its runs of slices give; back, each run has its slices.
TEST_P(ProjectTest, SlabsMakeTheWhole) {
  for (const ProjectCase& geometry : ProjectCases()) {
    if (geometry.grid.nz < 3) continue;
    SCOPED_TRACE(geometry.name);
    const Array input = Input(geometry, 51);
    const Array whole = Apply(GetParam(), geometry, input);
    Array of_slabs(OutputShape(direction(), geometry));
    const int height = geometry.grid.nz / 3;
    for (int first = 0; first < geometry.grid.nz; first += height) {
      BackprojectCase slab = geometry;
      slab.grid.nz = std::min(height, geometry.grid.nz - first);
      slab.grid.origin = geometry.grid.VoxelToWorld(0, 0, first);
      if (forward()) {
        Array voxels(slab.grid.shape());
        std::copy_n(input.view().row(first, 0), voxels.values.size(), voxels.values.begin());
        of_slabs = Apply(GetParam(), slab, voxels, &of_slabs);
      } else {
        const Array seen = Apply(GetParam(), slab, input);
        std::copy(seen.values.begin(), seen.values.end(), of_slabs.view().row(first, 0));
      }
    }
    // Positions are rounded anew in each slab; both are as close to the truth as they must be.
    const Tolerance tolerance = ToleranceFor(geometry, GetParam());
    const Difference difference = Compare(of_slabs, whole);
    EXPECT_LT(difference.rms, 2 * tolerance.rms);
    EXPECT_LT(difference.largest, 2 * tolerance.largest);
  }
}

TEST_P(ProjectTest, GridThatNoViewSeesChangesNothing) {
  ProjectCase geometry = ProjectCases().front();
  geometry.grid.origin = geometry.grid.origin + Vec3{0, 0, 400};
  const Array start = Noise(OutputShape(direction(), geometry), 56);
  EXPECT_EQ(Apply(GetParam(), geometry, Input(geometry, 57), &start).values, start.values);
}

// There are fewer matrices than views in the stack.
TEST_P(ProjectTest, ViewsBeyondTheMatricesDoNotCount) {
  ProjectCase geometry = ProjectCases().front(), few = geometry;
  few.matrices.resize(2);
  const Array input = Input(geometry, 58);
  const Array start = Noise(OutputShape(direction(), geometry), 59);
  const Array got = Apply(GetParam(), few, input, &start);
  if (forward()) {
    const int64_t seen = 2 * geometry.detector.middle * geometry.detector.fast;
    EXPECT_TRUE(
        std::equal(got.values.begin() + seen, got.values.end(), start.values.begin() + seen));
    EXPECT_FALSE(std::equal(got.values.begin(), got.values.begin() + seen, start.values.begin()));
  } else {
    Array pixels = input;
    std::fill(pixels.view().row(2, 0), pixels.values.data() + pixels.values.size(), 0.0f);
    EXPECT_LT(Compare(got, Apply(GetParam(), geometry, pixels, &start)).largest, 1e-5);
  }
}

// Large enough to be still on its way when the work is started.
TEST_P(ProjectTest, WaitsForWhatIsBeingUploaded) {
  const Shape3 detector{2, 600, 800};
  const BackprojectCase geometry{.detector = detector,
                                 .matrices = CArmMatrices(2, detector, 3, 0.5, 0.02),
                                 .grid = CenteredGrid(128, 128, 128, {1, 1, 1})};
  const Array input = Noise(InputShape(direction(), geometry), 60);
  const std::string& backend = GetParam().method.backend;
  const auto session = OpenSession(backend);
  const auto volume = NewVolume(*session, geometry.grid);
  const auto stack = NewStack(*session, geometry.detector, ops::StackUse::kProjections);
  const auto memory = session->device().NewHostMemory(input.values.size() * sizeof(float));
  ASSERT_TRUE(memory.ok()) << memory.status();
  const HostView3<float> host(reinterpret_cast<float*>((*memory)->data()), input.shape);
  std::copy(input.values.begin(), input.values.end(), host.data());
  const auto& methods = AllMethods().projectors.at(GetParam().model);
  if (forward()) {
    const auto operation = *(*methods.forward.Find(backend, GetParam().method.name))(*session);
    ASSERT_TRUE(volume->StartUpload(0, host).ok());
    ASSERT_TRUE(operation->Run(geometry.matrices, *volume, *stack).ok());
  } else {
    const auto operation = *(*methods.back.Find(backend, GetParam().method.name))(*session);
    ASSERT_TRUE(stack->StartUpload(0, host).ok());
    ASSERT_TRUE(operation->Run(geometry.matrices, *stack, *volume).ok());
  }
  const Array got = forward() ? Downloaded(*stack) : Downloaded(*volume);
  ExpectSame(got, Apply(GetParam(), geometry, input), ProjectCases().front());
}

TEST_P(ProjectTest, RefusesWrongArguments) {
  const BackprojectCase geometry = ProjectCases().front();
  const auto session = OpenSession(GetParam().method.backend);
  const auto reference = OpenSession("reference");
  const auto volume = NewVolume(*session, geometry.grid);
  const auto foreign_volume = NewVolume(*reference, geometry.grid);
  const auto stack = NewStack(*session, geometry.detector, ops::StackUse::kProjections);
  const auto foreign_stack = NewStack(*reference, geometry.detector, ops::StackUse::kProjections);
  const auto other_use = NewStack(*session, geometry.detector, ops::StackUse::kLineIntegrals);
  const auto small = NewStack(*session, {3, geometry.detector.middle, geometry.detector.fast},
                              ops::StackUse::kProjections);
  const auto& methods = AllMethods().projectors.at(GetParam().model);
  const std::string& backend = GetParam().method.backend;
  const std::string& name = GetParam().method.name;
  const auto run = [&](ops::VolumeBuffer& x, ops::ProjectionStack& p) {
    if (forward()) {
      const auto operation = *(*methods.forward.Find(backend, name))(*session);
      EXPECT_GE(operation->WorkspaceBytes(geometry.grid, geometry.detector), 0);
      return operation->Run(geometry.matrices, x, p);
    }
    const auto operation = *(*methods.back.Find(backend, name))(*session);
    EXPECT_GE(operation->WorkspaceBytes(geometry.grid, geometry.detector), 0);
    return operation->Run(geometry.matrices, p, x);
  };
  EXPECT_TRUE(run(*volume, *stack).ok());
  for (const absl::Status& status : {run(*foreign_volume, *stack), run(*volume, *foreign_stack),
                                     run(*volume, *other_use), run(*volume, *small)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, ProjectTest, testing::ValuesIn(ProjectorsUnderTest()),
                         [](const auto& info) { return ProjectorMethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
