#include "tests/conformance/projectors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>

namespace isocenter::conformance {

void PrintTo(const ProjectorMethod& method, std::ostream* out) {
  *out << ProjectorMethodName(method);
}

std::string ProjectorMethodName(const ProjectorMethod& method) {
  return std::string(ops::ProjectorName(method.model)) +
         (method.direction == Direction::kForward ? "_forward_" : "_back_") +
         MethodName(method.method);
}

std::vector<ProjectorMethod> ProjectorsUnderTest() {
  std::vector<ProjectorMethod> all;
  for (const auto& [model, methods] : AllMethods().projectors) {
    for (Method& method : MethodsUnderTest(methods.forward)) {
      all.push_back({model, Direction::kForward, std::move(method)});
    }
    for (Method& method : MethodsUnderTest(methods.back)) {
      all.push_back({model, Direction::kBack, std::move(method)});
    }
  }
  return all;
}

std::vector<ProjectorMethod> MatchedProjectorsUnderTest() {
  const std::vector<ProjectorMethod> all = ProjectorsUnderTest();
  std::vector<ProjectorMethod> matched;
  for (const ProjectorMethod& forward : all) {
    if (forward.direction != Direction::kForward) continue;
    for (const ProjectorMethod& back : all) {
      if (back.direction == Direction::kBack && back.model == forward.model &&
          back.method.backend == forward.method.backend &&
          back.method.name == forward.method.name) {
        matched.push_back(forward);
        // The pair is as close as the looser of the two.
        if (back.method.precision == ops::Precision::kFast) {
          matched.back().method.precision = ops::Precision::kFast;
        }
      }
    }
  }
  return matched;
}

Shape3 InputShape(Direction direction, const BackprojectCase& geometry) {
  return direction == Direction::kForward ? geometry.grid.shape() : geometry.detector;
}

Shape3 OutputShape(Direction direction, const BackprojectCase& geometry) {
  return direction == Direction::kForward ? geometry.detector : geometry.grid.shape();
}

Array Apply(const ProjectorMethod& method, const BackprojectCase& geometry, const Array& input,
            const Array* start, int threads) {
  const auto session = OpenSession(method.method.backend, threads);
  const bool forward = method.direction == Direction::kForward;
  const auto volume = NewVolume(*session, geometry.grid);
  const auto stack = NewStack(*session, geometry.detector, ops::StackUse::kProjections);
  const Array* const in_volume = forward ? &input : start;
  const Array* const in_stack = forward ? start : &input;
  if (in_volume != nullptr) {
    EXPECT_TRUE(volume->Upload(0, in_volume->view()).ok());
  }
  if (in_stack != nullptr) {
    EXPECT_TRUE(stack->Upload(0, in_stack->view()).ok());
  }
  const auto& methods = AllMethods().projectors.at(method.model);
  absl::Status status;
  if (forward) {
    const auto operation =
        (*methods.forward.Find(method.method.backend, method.method.name))(*session);
    EXPECT_TRUE(operation.ok()) << operation.status();
    status = (*operation)->Run(geometry.matrices, *volume, *stack);
  } else {
    const auto operation =
        (*methods.back.Find(method.method.backend, method.method.name))(*session);
    EXPECT_TRUE(operation.ok()) << operation.status();
    status = (*operation)->Run(geometry.matrices, *stack, *volume);
  }
  EXPECT_TRUE(status.ok()) << status;
  return forward ? Downloaded(*stack) : Downloaded(*volume);
}

Array InputFor(Direction direction, const ProjectCase& geometry, uint32_t seed) {
  Array input = Noise(InputShape(direction, geometry), seed);
  if (geometry.positive_input) {
    for (float& value : input.values) value = std::abs(value);
  }
  return input;
}

const Array& ReferenceOfInput(ops::ProjectorModel model, Direction direction,
                              const ProjectCase& geometry, uint32_t seed) {
  using Key = std::tuple<ops::ProjectorModel, Direction, std::string, uint32_t>;
  static auto& known = *new std::map<Key, Array>;
  const Key key{model, direction, geometry.name, seed};
  auto found = known.find(key);
  if (found == known.end()) {
    const ProjectorMethod reference{
        model, direction, {"reference", std::string(ops::ProjectorName(model))}};
    found =
        known.emplace(key, Apply(reference, geometry, InputFor(direction, geometry, seed))).first;
  }
  return found->second;
}

}  // namespace isocenter::conformance
