// The sums of the rows of A without a volume of ones.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/conformance/projectors.h"

namespace isocenter::conformance {
namespace {

struct RowSumsMethod {
  ops::ProjectorModel model;
  Method method;
};

std::string NameOf(const RowSumsMethod& method) {
  return std::string(ops::ProjectorName(method.model)) + "_" + MethodName(method.method);
}

void PrintTo(const RowSumsMethod& method, std::ostream* out) { *out << NameOf(method); }

std::vector<RowSumsMethod> RowSumsUnderTest() {
  std::vector<RowSumsMethod> all;
  for (const auto& [model, methods] : AllMethods().projectors) {
    for (Method& method : MethodsUnderTest(methods.row_sums)) {
      all.push_back({model, std::move(method)});
    }
  }
  return all;
}

absl::Status RunMethod(const RowSumsMethod& method, const BackprojectCase& geometry,
                       ops::Session& session, ops::ProjectionStack& stack) {
  const auto factory = AllMethods()
                           .projectors.at(method.model)
                           .row_sums.Find(method.method.backend, method.method.name);
  if (!factory.ok()) return factory.status();
  const auto operation = (*factory)(session);
  if (!operation.ok()) return operation.status();
  return (*operation)->Run(geometry.matrices, geometry.grid, stack);
}

Array Sums(const RowSumsMethod& method, const BackprojectCase& geometry,
           const Array* start = nullptr, int threads = 2) {
  const auto session = OpenSession(method.method.backend, threads);
  const auto stack = NewStack(*session, geometry.detector, ops::StackUse::kProjections);
  if (start != nullptr) EXPECT_TRUE(stack->Upload(0, start->view()).ok());
  const absl::Status status = RunMethod(method, geometry, *session, *stack);
  EXPECT_TRUE(status.ok()) << status;
  return Downloaded(*stack);
}

Array OnesOf(const VolumeGrid& grid) {
  Array ones(grid.shape());
  std::fill(ones.values.begin(), ones.values.end(), 1.0f);
  return ones;
}

class RowSumsTest : public testing::TestWithParam<RowSumsMethod> {};

TEST(RowSumsMethods, AreUnderTest) { EXPECT_FALSE(RowSumsUnderTest().empty()); }

// Float32 knows where a ray is to 6e-5 of a voxel, of which a sum over border voxels has a few.
TEST_P(RowSumsTest, AgreeWithReference) {
  const std::string reference(ops::ProjectorName(GetParam().model));
  for (const ProjectCase& geometry : ProjectCases()) {
    SCOPED_TRACE(geometry.name);
    const Array expected = Apply({GetParam().model, Direction::kForward, {"reference", reference}},
                                 geometry, OnesOf(geometry.grid));
    const Difference difference = Compare(Sums(GetParam(), geometry), expected);
    EXPECT_LT(difference.rms, 1e-4 * geometry.looser);
    EXPECT_LT(difference.largest, 1e-3 * geometry.looser);
  }
}

TEST_P(RowSumsTest, AreThoseOfAVolumeOfOnes) {
  const std::string& backend = GetParam().method.backend;
  const auto forward = AllMethods().projectors.at(GetParam().model).forward.FindEntry(backend);
  ASSERT_TRUE(forward.ok()) << forward.status();
  for (const ProjectCase& geometry : ProjectCases()) {
    SCOPED_TRACE(geometry.name);
    const Array expected =
        Apply({GetParam().model, Direction::kForward, {backend, (*forward)->method}}, geometry,
              OnesOf(geometry.grid));
    EXPECT_LT(Compare(Sums(GetParam(), geometry), expected).largest, 1e-5 * geometry.looser);
  }
}

TEST_P(RowSumsTest, AddToWhatIsThereForViewsWithMatrices) {
  const ProjectCase geometry = ProjectCases().front();
  ProjectCase few = geometry;
  few.matrices.resize(2);
  const Array start = Noise(geometry.detector, 71);
  const Array alone = Sums(GetParam(), few), got = Sums(GetParam(), few, &start);
  Array expected = start;
  for (size_t i = 0; i < expected.values.size(); ++i) expected.values[i] += alone.values[i];
  EXPECT_EQ(got.values, expected.values);
  const auto seen =
      static_cast<std::ptrdiff_t>(2 * geometry.detector.middle * geometry.detector.fast);
  EXPECT_TRUE(std::equal(got.values.begin() + seen, got.values.end(), start.values.begin() + seen));
  EXPECT_FALSE(std::equal(got.values.begin(), got.values.begin() + seen, start.values.begin()));
}

TEST_P(RowSumsTest, AreReproducible) {
  for (const ProjectCase& geometry : ProjectCases()) {
    SCOPED_TRACE(geometry.name);
    const Array one = Sums(GetParam(), geometry, nullptr, 1);
    EXPECT_EQ(Sums(GetParam(), geometry, nullptr, 3).values, one.values);
  }
}

TEST_P(RowSumsTest, RefuseWrongArguments) {
  const BackprojectCase geometry = ProjectCases().front();
  const auto session = OpenSession(GetParam().method.backend);
  const auto other = OpenSession(GetParam().method.backend == "cpu" ? "reference" : "cpu");
  const auto foreign = NewStack(*other, geometry.detector, ops::StackUse::kProjections);
  const auto other_use = NewStack(*session, geometry.detector, ops::StackUse::kLineIntegrals);
  const auto small = NewStack(*session, {1, geometry.detector.middle, geometry.detector.fast},
                              ops::StackUse::kProjections);
  for (ops::ProjectionStack* stack : {foreign.get(), other_use.get(), small.get()}) {
    const absl::Status status = RunMethod(GetParam(), geometry, *session, *stack);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, RowSumsTest, testing::ValuesIn(RowSumsUnderTest()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace isocenter::conformance
