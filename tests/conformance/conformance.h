// What the conformance suites share: which methods are tested, inputs, and how results are
// compared with the reference backend's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/views.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/ops/registry.h"
#include "tests/all_methods.h"
#include "tests/opened_session.h"

namespace isocenter::conformance {

/// A method under test.
struct Method {
  std::string backend;
  std::string name;
  ops::Precision precision = ops::Precision::kExact;
  ops::Order order = ops::Order::kFixed;
};
void PrintTo(const Method& method, std::ostream* out);
std::string MethodName(const Method& method);

/// Names of the backends other than reference that have a device on this machine. The suite says
/// which are left out.
const std::vector<std::string>& BackendsUnderTest();

/// Those of them that reconstruct cones: the others have a part of the operations.
std::vector<std::string> ReconstructingBackends();

/// All methods of a table that belong to one of them.
template <class Factory>
std::vector<Method> MethodsUnderTest(const ops::MethodTable<Factory>& table) {
  std::vector<Method> methods;
  const auto& tested = BackendsUnderTest();
  for (const auto& entry : table.List()) {
    if (std::find(tested.begin(), tested.end(), entry.backend) != tested.end()) {
      methods.push_back({entry.backend, entry.method, entry.precision, entry.order});
    }
  }
  return methods;
}

/// A device of the backend; the test fails where it cannot be opened.
std::unique_ptr<ops::Device> OpenDevice(const std::string& backend, int threads = 2);
OpenedSession OpenSession(const std::string& backend, int threads = 2);

/// An array in host memory.
struct Array {
  explicit Array(Shape3 shape) : shape(shape), values(shape.count()) {}
  HostView3<float> view() { return {values.data(), shape}; }
  HostView3<const float> view() const { return {values.data(), shape}; }
  Shape3 shape;
  std::vector<float> values;
};

/// White noise, uniform in [-1, 1]; the same for the same seed on every machine.
Array Noise(Shape3 shape, uint32_t seed);
double Uniform(std::mt19937& random, double low, double high);

/// How far `got` is from `expected`, as fractions of the root mean square of `expected`.
struct Difference {
  double rms = 0;
  double largest = 0;
};
Difference Compare(const Array& got, const Array& expected);

/// The calls that every suite makes, with failures reported by the test.
std::unique_ptr<ops::ProjectionStack> NewStack(ops::Session& session, Shape3 shape,
                                               ops::StackUse use);
std::unique_ptr<ops::VolumeBuffer> NewVolume(ops::Session& session, const VolumeGrid& grid);
Array Downloaded(const ops::ProjectionStack& stack);
Array Downloaded(const ops::VolumeBuffer& volume);

}  // namespace isocenter::conformance
