#include "tests/conformance/conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace isocenter::conformance {

void PrintTo(const Method& method, std::ostream* out) {
  *out << method.backend << "/" << method.name;
}

std::string MethodName(const Method& method) {
  std::string name = method.backend + "_" + method.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

const std::vector<std::string>& BackendsUnderTest() {
  static const auto* const names = [] {
    auto* found = new std::vector<std::string>;
    for (const auto& [backend, factory] : AllMethods().devices) {
      if (backend == "reference") continue;
      const absl::Status status = AllMethods().OpenDevice(backend, {}).status();
      if (absl::IsUnavailable(status)) {
        std::printf("not tested: %s: %s\n", backend.c_str(), std::string(status.message()).c_str());
      } else {
        found->push_back(backend);
      }
    }
    return found;
  }();
  return *names;
}

std::vector<std::string> ReconstructingBackends() {
  std::vector<std::string> names = BackendsUnderTest();
  std::erase_if(names, [](const std::string& backend) {
    return absl::IsNotFound(AllMethods().backproject.Find(backend).status());
  });
  return names;
}

std::unique_ptr<ops::Device> OpenDevice(const std::string& backend, int threads) {
  auto device = AllMethods().OpenDevice(backend, {.threads = threads});
  if (!device.ok()) {
    ADD_FAILURE() << device.status();
    std::abort();  // nothing can be tested without it
  }
  return *std::move(device);
}

OpenedSession OpenSession(const std::string& backend, int threads) {
  auto device = OpenDevice(backend, threads);
  auto session = device->NewSession();
  if (!session.ok()) {
    ADD_FAILURE() << session.status();
    std::abort();
  }
  return {std::move(device), *std::move(session)};
}

double Uniform(std::mt19937& random, double low, double high) {
  return low + (high - low) * (static_cast<double>(random()) / 4294967296.0);
}

Array Noise(Shape3 shape, uint32_t seed) {
  std::mt19937 random(seed);
  Array array(shape);
  for (float& value : array.values) value = static_cast<float>(Uniform(random, -1, 1));
  return array;
}

Difference Compare(const Array& got, const Array& expected) {
  EXPECT_EQ(got.shape, expected.shape);
  double square = 0, error = 0, largest = 0;
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const double difference = double{got.values[i]} - double{expected.values[i]};
    square += double{expected.values[i]} * double{expected.values[i]};
    error += difference * difference;
    // A NaN must not pass for a small difference.
    if (!(std::abs(difference) <= largest)) largest = std::abs(difference);
  }
  const double scale = std::sqrt(square / static_cast<double>(expected.values.size()));
  EXPECT_GT(scale, 0) << "the expected values are all zero: nothing would be compared";
  return {std::sqrt(error / square), largest / scale};
}

std::unique_ptr<ops::ProjectionStack> NewStack(ops::Session& session, Shape3 shape,
                                               ops::StackUse use) {
  auto stack = session.NewProjectionStack(shape, use);
  EXPECT_TRUE(stack.ok()) << stack.status();
  return *std::move(stack);
}

std::unique_ptr<ops::VolumeBuffer> NewVolume(ops::Session& session, const VolumeGrid& grid) {
  auto volume = session.NewVolume(grid);
  EXPECT_TRUE(volume.ok()) << volume.status();
  return *std::move(volume);
}

Array Downloaded(const ops::ProjectionStack& stack) {
  Array array(stack.shape());
  const absl::Status status = stack.Download(0, array.view());
  EXPECT_TRUE(status.ok()) << status;
  return array;
}

Array Downloaded(const ops::VolumeBuffer& volume) {
  Array array(volume.grid().shape());
  const absl::Status status = volume.Download(0, array.view());
  EXPECT_TRUE(status.ok()) << status;
  return array;
}

}  // namespace isocenter::conformance
