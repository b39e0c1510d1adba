// What an operation takes for itself is no more than its method states: it runs on a device that
// has room for its arguments and for that, and not for a byte more.
#include <gtest/gtest.h>

#include <functional>

#include "kernels/base/units.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/fan_beam.h"
#include "tests/conformance/geometries.h"
#include "tests/conformance/projectors.h"

namespace isocenter::conformance {
namespace {

// More views than any method works on at once, and rows that no layout has without padding.
constexpr Shape3 kStack{70, 37, 45};
const VolumeGrid kGrid = CenteredGrid(21, 34, 27, {2, 2, 2});
const ops::RampFilterSpec kFilter{
    .rows = 37, .columns = 45, .truncation = ops::Truncation::kCylinder};

std::vector<ProjectionMatrix> Matrices() { return CArmMatrices(70, kStack, 0.7, 0.02, 0.01); }

// Calls `run` on a device with `workspace` bytes beside a stack of each use and a volume.
void ExpectEnough(const std::string& backend, int64_t workspace,
                  const std::function<absl::Status(ops::Session&, ops::ProjectionStack& lines,
                                                   ops::ProjectionStack& projections,
                                                   ops::VolumeBuffer& volume)>& run) {
  const auto probe = OpenDevice(backend);
  const int64_t arguments = probe->ProjectionStackBytes(kStack, ops::StackUse::kLineIntegrals) +
                            probe->ProjectionStackBytes(kStack, ops::StackUse::kProjections) +
                            probe->VolumeBytes(kGrid);
  const auto device = AllMethods().OpenDevice(
      backend, {.memory_bytes = arguments + workspace, .threads = probe->limits().threads});
  ASSERT_TRUE(device.ok()) << device.status();
  const auto session = (*device)->NewSession();
  ASSERT_TRUE(session.ok()) << session.status();
  const auto lines = NewStack(**session, kStack, ops::StackUse::kLineIntegrals);
  const auto projections = NewStack(**session, kStack, ops::StackUse::kProjections);
  const auto volume = NewVolume(**session, kGrid);
  const absl::Status status = run(**session, *lines, *projections, *volume);
  EXPECT_TRUE(status.ok()) << status;
}

template <class Factory, class... Spec>
int64_t Stated(const std::string& backend, const Factory& factory, const Spec&... spec) {
  return factory.WorkspaceBytes(*OpenDevice(backend), {.stack = kStack, .grid = kGrid}, spec...);
}

class WorkspaceTest : public testing::TestWithParam<std::string> {};

TEST_P(WorkspaceTest, PreprocessTakesWhatItStates) {
  for (const Method& method : MethodsUnderTest(AllMethods().preprocess)) {
    if (method.backend != GetParam()) continue;
    const auto factory = *AllMethods().preprocess.Find(GetParam(), method.name);
    const Array frames = Noise(kStack, 3);
    const std::vector<float> ones(kStack.fast, 1.f);
    std::vector<ops::ViewWeights> weights;
    for (const ProjectionMatrix& matrix : Matrices()) weights.push_back({matrix, ones});
    ExpectEnough(GetParam(), Stated(GetParam(), factory),
                 [&](auto& session, auto& lines, auto&, auto&) -> absl::Status {
                   const auto operation = factory(session);
                   if (!operation.ok()) return operation.status();
                   // As often as it has sets of memory.
                   for (int i = 0; i < 3; ++i) {
                     const absl::Status status =
                         (*operation)->Run({.line_integrals = frames.view()}, {}, weights, lines);
                     if (!status.ok()) return status;
                   }
                   return absl::OkStatus();
                 });
  }
}

TEST_P(WorkspaceTest, RampFiltersTakeWhatTheyState) {
  for (const Method& method : MethodsUnderTest(AllMethods().ramp_filter)) {
    if (method.backend != GetParam()) continue;
    SCOPED_TRACE(method.name);
    const auto factory = *AllMethods().ramp_filter.Find(GetParam(), method.name);
    ExpectEnough(GetParam(), Stated(GetParam(), factory, kFilter),
                 [&](auto& session, auto& lines, auto& projections, auto&) -> absl::Status {
                   const auto operation = factory(session, kFilter);
                   if (!operation.ok()) return operation.status();
                   return (*operation)->Run(static_cast<int>(kStack.slow), lines, projections);
                 });
  }
}

TEST_P(WorkspaceTest, BackprojectionsTakeWhatTheyState) {
  for (const Method& method : MethodsUnderTest(AllMethods().backproject)) {
    if (method.backend != GetParam()) continue;
    SCOPED_TRACE(method.name);
    const auto factory = *AllMethods().backproject.Find(GetParam(), method.name);
    ExpectEnough(GetParam(), Stated(GetParam(), factory),
                 [&](auto& session, auto&, auto& projections, auto& volume) -> absl::Status {
                   const auto operation = factory(session);
                   if (!operation.ok()) return operation.status();
                   return (*operation)->Run(Matrices(), projections, volume);
                 });
  }
}

TEST_P(WorkspaceTest, ProjectorsTakeWhatTheyState) {
  for (const ProjectorMethod& method : ProjectorsUnderTest()) {
    if (method.method.backend != GetParam()) continue;
    SCOPED_TRACE(ProjectorMethodName(method));
    const auto& methods = AllMethods().projectors.at(method.model);
    if (method.direction == Direction::kForward) {
      const auto factory = *methods.forward.Find(GetParam(), method.method.name);
      ExpectEnough(GetParam(), Stated(GetParam(), factory),
                   [&](auto& session, auto&, auto& projections, auto& volume) -> absl::Status {
                     const auto operation = factory(session);
                     if (!operation.ok()) return operation.status();
                     return (*operation)->Run(Matrices(), volume, projections);
                   });
    } else {
      const auto factory = *methods.back.Find(GetParam(), method.method.name);
      ExpectEnough(GetParam(), Stated(GetParam(), factory),
                   [&](auto& session, auto&, auto& projections, auto& volume) -> absl::Status {
                     const auto operation = factory(session);
                     if (!operation.ok()) return operation.status();
                     return (*operation)->Run(Matrices(), projections, volume);
                   });
    }
  }
}

TEST_P(WorkspaceTest, IterativeOperationsTakeWhatTheyState) {
  if (absl::IsNotFound(AllMethods().arithmetic.Find(GetParam()).status())) {
    GTEST_SKIP() << GetParam() << " has no iterative methods";
  }
  const auto arithmetic = *AllMethods().arithmetic.Find(GetParam());
  ExpectEnough(GetParam(), Stated(GetParam(), arithmetic),
               [&](auto& session, auto&, auto& projections, auto& volume) -> absl::Status {
                 const auto operation = arithmetic(session);
                 if (!operation.ok()) return operation.status();
                 absl::Status status = (*operation)->Dot(volume, volume).status();
                 status.Update((*operation)->Dot(projections, projections).status());
                 return status;
               });
  const auto variation = *AllMethods().variation.Find(GetParam());
  ExpectEnough(GetParam(), Stated(GetParam(), variation),
               [&](auto& session, auto&, auto&, auto& volume) -> absl::Status {
                 const auto operation = variation(session);
                 if (!operation.ok()) return operation.status();
                 return (*operation)->TotalVariation(0.1, volume, {}).status();
               });
}

TEST_P(WorkspaceTest, CorrectionsOfWholeFramesTakeWhatTheyState) {
  if (absl::IsNotFound(AllMethods().corrections.scatter.Find(GetParam()).status())) {
    GTEST_SKIP() << GetParam() << " has no corrections";
  }
  ops::Calibration calibration;
  calibration.detector = {.columns = 45, .rows = 37, .pitch_u_mm = 0.3, .pitch_v_mm = 0.3};
  calibration.glare = {{0.1, 9}, {0.1, 30}};
  calibration.air.columns = 16;
  calibration.scatter =
      ops::ScatterKernels{.groups = {{0, 1, 1, 1, 20, 40, 0.5}, {50, 1, 1, 1, 20, 40, 0.5}},
                          .mu_water_per_mm = 0.02,
                          .gamma_per_mm = 0.002};
  const auto doses = *AllMethods().corrections.doses.Find(GetParam());
  const auto glare = *AllMethods().corrections.glare.Find(GetParam());
  const auto scatter = *AllMethods().corrections.scatter.Find(GetParam());
  // The doses are an argument, but not one of those that there is room for.
  const int64_t of_doses =
      OpenDevice(GetParam())
          ->ProjectionStackBytes({kStack.slow, 1, 1}, ops::StackUse::kLineIntegrals);
  ExpectEnough(
      GetParam(), of_doses + Stated(GetParam(), doses, calibration),
      [&](auto& session, auto& lines, auto&, auto&) -> absl::Status {
        const auto operation = doses(session, calibration);
        if (!operation.ok()) return operation.status();
        const auto found = NewStack(session, {kStack.slow, 1, 1}, ops::StackUse::kLineIntegrals);
        const std::vector<float> given(kStack.slow, 0.f);
        absl::Status status;
        // As often as it has sets of memory.
        for (int i = 0; i < 3; ++i) {
          status.Update((*operation)->Run(given, lines, *found));
        }
        return status;
      });
  ExpectEnough(GetParam(), Stated(GetParam(), glare, calibration),
               [&](auto& session, auto& lines, auto&, auto&) -> absl::Status {
                 const auto operation = glare(session, calibration);
                 if (!operation.ok()) return operation.status();
                 absl::Status status = (*operation)->Run(3, lines);
                 status.Update((*operation)->Run(kStack.slow, lines));
                 return status;
               });
  ExpectEnough(
      GetParam(), of_doses + Stated(GetParam(), scatter, calibration),
      [&](auto& session, auto& lines, auto&, auto&) -> absl::Status {
        const auto operation = scatter(session, calibration);
        if (!operation.ok()) return operation.status();
        const auto ones = NewStack(session, {kStack.slow, 1, 1}, ops::StackUse::kLineIntegrals);
        Array dose({kStack.slow, 1, 1});
        std::fill(dose.values.begin(), dose.values.end(), 1.f);
        absl::Status status = ones->Upload(0, dose.view());
        status.Update((*operation)->Run(3, *ones, lines));
        status.Update((*operation)->Run(kStack.slow, *ones, lines));
        return status;
      });
}

// A full scan with a stack of kStack's shape, on the grid of a quarter turn and on another.
TEST_P(WorkspaceTest, FanBeamOperationsTakeWhatTheyState) {
  FanBeamGeometry geometry = FanBeamCases().front().geometry;
  geometry.views = 72;
  geometry.channels = static_cast<int>(kStack.fast);
  geometry.central_channel = 0.5 * (geometry.channels - 1);
  ASSERT_TRUE(ValidateFanBeam(geometry).ok());
  const Shape3 shape{72, 5, kStack.fast};
  const VolumeGrid grid = CenteredGrid(40, 40, 5, {2, 2, 2});
  const auto probe = OpenDevice(GetParam());
  const int64_t stack_bytes = probe->ProjectionStackBytes(shape, ops::StackUse::kLineIntegrals);
  const auto expect_enough = [&](int64_t workspace, auto run) {
    const auto device = AllMethods().OpenDevice(
        GetParam(), {.memory_bytes = stack_bytes + probe->VolumeBytes(grid) + workspace,
                     .threads = probe->limits().threads});
    ASSERT_TRUE(device.ok()) << device.status();
    const auto session = (*device)->NewSession();
    const auto stack = NewStack(**session, shape, ops::StackUse::kLineIntegrals);
    const auto volume = NewVolume(**session, grid);
    const absl::Status status = run(**session, *stack, *volume);
    EXPECT_TRUE(status.ok()) << status;
  };
  const ops::FanBeamFilterSpec spec{.geometry = geometry, .slices = 5};
  for (const Method& method : MethodsUnderTest(AllMethods().fan_beam_filter)) {
    if (method.backend != GetParam()) continue;
    SCOPED_TRACE(method.name);
    const auto factory = *AllMethods().fan_beam_filter.Find(GetParam(), method.name);
    expect_enough(factory.WorkspaceBytes(*probe, {.stack = shape, .grid = grid}, spec),
                  [&](auto& session, auto& stack, auto&) -> absl::Status {
                    const auto operation = factory(session, spec);
                    if (!operation.ok()) return operation.status();
                    return (*operation)->Run(0, stack, stack);
                  });
  }
  for (const Method& method : MethodsUnderTest(AllMethods().fan_beam_backproject)) {
    if (method.backend != GetParam()) continue;
    SCOPED_TRACE(method.name);
    const auto factory = *AllMethods().fan_beam_backproject.Find(GetParam(), method.name);
    expect_enough(factory.WorkspaceBytes(*probe, {.stack = shape, .grid = grid}),
                  [&](auto& session, auto& stack, auto& volume) -> absl::Status {
                    const auto operation = factory(session);
                    if (!operation.ok()) return operation.status();
                    return (*operation)->Run(geometry, 0, stack, volume);
                  });
  }
}

TEST_P(WorkspaceTest, OperationsOfASecondPassTakeWhatTheyState) {
  if (absl::IsNotFound(AllMethods().trace.Find(GetParam()).status())) {
    GTEST_SKIP() << GetParam() << " has no second passes";
  }
  ops::Calibration calibration;
  calibration.bone = {.line_integrals = 2,
                      .bones = 2,
                      .most_line_integral = 5,
                      .most_bone_mm = 90,
                      .added = {0, 0, 1, 1},
                      .from_hu = 100,
                      .full_hu = 1500};
  const auto trace = *AllMethods().trace.Find(GetParam());
  const auto bone = *AllMethods().bone.Find(GetParam());
  // What is beside the frames is an argument, but not one of those that there is room for.
  const int64_t beside =
      OpenDevice(GetParam())->ProjectionStackBytes(kStack, ops::StackUse::kLineIntegrals);
  ExpectEnough(GetParam(), beside + Stated(GetParam(), trace),
               [&](auto& session, auto& lines, auto&, auto&) -> absl::Status {
                 const auto metal = NewStack(session, kStack, ops::StackUse::kLineIntegrals);
                 const auto operation = trace(session);
                 if (!operation.ok()) return operation.status();
                 return (*operation)->Run(kStack.slow, {.margin = 2}, *metal, nullptr, lines);
               });
  ExpectEnough(GetParam(), beside + Stated(GetParam(), bone, calibration),
               [&](auto& session, auto& lines, auto&, auto&) -> absl::Status {
                 const auto paths = NewStack(session, kStack, ops::StackUse::kLineIntegrals);
                 const auto operation = bone(session, calibration);
                 if (!operation.ok()) return operation.status();
                 return (*operation)->Run(kStack.slow, *paths, lines);
               });
}

TEST_P(WorkspaceTest, TheConeBeamArtefactTakesWhatItStates) {
  const auto factory = AllMethods().cone_beam.Find(GetParam());
  if (absl::IsNotFound(factory.status())) {
    GTEST_SKIP() << GetParam() << " leaves the cone-beam artefact to the host";
  }
  ops::ConeBeamSpec spec{.heights = {.per_index = {0, 0, 1}, .count = kGrid.nz + 1}};
  spec.first.assign(size_t(kGrid.nx) * kGrid.ny, 0);
  spec.last.assign(spec.first.size(), kGrid.nz - 1);
  std::vector<int> columns(spec.first.size());
  for (size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<int>(i);
  const int64_t reconstruction = OpenDevice(GetParam())->VolumeBytes(kGrid);
  ExpectEnough(GetParam(), Stated(GetParam(), *factory, spec) + reconstruction,
               [&](auto& session, auto&, auto&, auto& volume) -> absl::Status {
                 const auto operation = (*factory)(session, spec);
                 if (!operation.ok()) return operation.status();
                 const auto made = NewVolume(session, kGrid);
                 absl::Status status = (*operation)->MakeModel(*made, volume);
                 status.Update((*operation)->CountDense(columns, 0.01, volume).status());
                 status.Update((*operation)->Find(volume, *made).status());
                 const std::vector<float> shares(spec.heights.count, 0.5F);
                 status.Update((*operation)->Keep(shares, volume).status());
                 status.Update((*operation)->TakeOff(volume, *made));
                 return status;
               });
}

TEST_P(WorkspaceTest, RingsTakeWhatTheyState) {
  if (absl::IsNotFound(AllMethods().rings.Find(GetParam()).status())) {
    GTEST_SKIP() << GetParam() << " takes no rings off";
  }
  const ops::RingSpec spec{.grid = kGrid, .axis_i = 9.5, .axis_j = 17};
  const auto rings = *AllMethods().rings.Find(GetParam());
  ExpectEnough(GetParam(), Stated(GetParam(), rings, spec),
               [&](auto& session, auto&, auto&, auto& volume) -> absl::Status {
                 const auto operation = rings(session, spec);
                 if (!operation.ok()) return operation.status();
                 return (*operation)->Run(0, volume);
               });
  const auto stripes = *AllMethods().stripes.Find(GetParam());
  ExpectEnough(GetParam(), Stated(GetParam(), stripes),
               [&](auto& session, auto& lines, auto&, auto&) -> absl::Status {
                 const auto operation = stripes(session);
                 if (!operation.ok()) return operation.status();
                 return (*operation)->Run(lines);
               });
}

INSTANTIATE_TEST_SUITE_P(Backends, WorkspaceTest, testing::ValuesIn(BackendsUnderTest()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace isocenter::conformance
