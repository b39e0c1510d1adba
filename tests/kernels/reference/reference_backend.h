// The reference backend for tests of it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "kernels/ops/registry.h"
#include "kernels/reference/register.h"

namespace isocenter {

class ReferenceBackend : public ::testing::Test {
 protected:
  ReferenceBackend() {
    reference::Register(registry_);
    device_ = *registry_.OpenDevice("reference", {});
    session_ = *device_->NewSession();
  }

  std::unique_ptr<ops::VolumeBuffer> Filled(const VolumeGrid& grid,
                                            const std::vector<float>& values) {
    auto volume = *session_->NewVolume(grid);
    EXPECT_TRUE(volume->Upload(0, HostView3<const float>(values.data(), grid.shape())).ok());
    return volume;
  }
  std::unique_ptr<ops::ProjectionStack> Filled(Shape3 shape, const std::vector<float>& values,
                                               ops::StackUse use = ops::StackUse::kProjections) {
    auto stack = *session_->NewProjectionStack(shape, use);
    EXPECT_TRUE(stack->Upload(0, HostView3<const float>(values.data(), shape)).ok());
    return stack;
  }
  static std::vector<float> Values(const ops::ProjectionStack& stack) {
    std::vector<float> values(stack.shape().count());
    EXPECT_TRUE(stack.Download(0, HostView3<float>(values.data(), stack.shape())).ok());
    return values;
  }
  static std::vector<float> Values(const ops::VolumeBuffer& volume) {
    std::vector<float> values(volume.grid().voxels());
    EXPECT_TRUE(volume.Download(0, HostView3<float>(values.data(), volume.grid().shape())).ok());
    return values;
  }

  ops::Registry registry_;
  std::unique_ptr<ops::Device> device_;
  std::unique_ptr<ops::Session> session_;
};

}  // namespace isocenter
