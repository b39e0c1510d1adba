// What an operation takes for itself is no more than its method states: it runs on a device that
// has room for its arguments and for that, and not for a byte more.
#include <gtest/gtest.h>

#include <functional>

#include "kernels/base/units.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/geometries.h"
#include "tests/conformance/projectors.h"

namespace isocenter::conformance {
namespace {

// More views than any method works on at once, and rows that no layout has without padding.
constexpr Shape3 kStack{70, 37, 45};
const VolumeGrid kGrid = CenteredGrid(21, 34, 27, {2, 2, 2});
const ops::RampFilterSpec kFilter{.rows = 37, .columns = 45, .extend_truncated_rows = true};

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

INSTANTIATE_TEST_SUITE_P(Backends, WorkspaceTest, testing::ValuesIn(BackendsUnderTest()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace isocenter::conformance
