// What the suites of forward projectors and their adjoints share.
#pragma once

#include <string>
#include <vector>

#include "kernels/ops/projector.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/geometries.h"

namespace isocenter::conformance {

enum class Direction { kForward, kBack };

/// A method of one model.
struct ProjectorMethod {
  ops::ProjectorModel model;
  Direction direction;
  Method method;
};
void PrintTo(const ProjectorMethod& method, std::ostream* out);
std::string ProjectorMethodName(const ProjectorMethod& method);

/// All methods of all models in both directions.
std::vector<ProjectorMethod> ProjectorsUnderTest();
/// Those of the forward direction that have an adjoint: one of the same name.
std::vector<ProjectorMethod> MatchedProjectorsUnderTest();

/// The shape of what a direction reads, and of what it adds to.
Shape3 InputShape(Direction direction, const BackprojectCase& geometry);
Shape3 OutputShape(Direction direction, const BackprojectCase& geometry);

/// The method's output for an input, on top of `start` or of zero.
Array Apply(const ProjectorMethod& method, const BackprojectCase& geometry, const Array& input,
            const Array* start = nullptr, int threads = 2);
/// White noise from `seed` for a direction to read, its magnitude where the case wants that.
Array InputFor(Direction direction, const ProjectCase& geometry, uint32_t seed);
/// What the reference makes of it; computed once in a process.
const Array& ReferenceOfInput(ops::ProjectorModel model, Direction direction,
                              const ProjectCase& geometry, uint32_t seed);

}  // namespace isocenter::conformance
