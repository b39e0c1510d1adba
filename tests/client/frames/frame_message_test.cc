#include "client/frame_message.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "isocenter/v1/acquisition.pb.h"
#include "kernels/base/crc32c.h"
#include "proto/wire/geometry.h"

namespace isocenter::client {
namespace {

TEST(FrameMessage, HasTheBytesOfTheProtobufMessage) {
  for (const uint32_t index : {0u, 1u, 127u, 128u, 9999u}) {
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{127}, size_t{128}, size_t{70000}}) {
      for (const bool with_matrix : {false, true}) {
        std::vector<std::byte> pixels(bytes, std::byte(0x5A));
        v1::AcquireRequest request;
        v1::Frame& frame = *request.mutable_frame();
        frame.set_index(index);
        frame.set_pixels(pixels.data(), pixels.size());
        frame.set_crc32c(Crc32c(pixels));
        frame.set_has_checksum(true);
        std::optional<ProjectionMatrix> measured;
        if (with_matrix) {
          measured = ProjectionMatrix{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
          *frame.mutable_measured_matrix() = wire::ToProto(*measured);
        }
        for (const grpc::Slice& slice : {CopyPixels(pixels), OwnPixels(pixels)}) {
          grpc::Slice flat;
          ASSERT_TRUE(FrameMessage(index, slice, measured).DumpToSingleSlice(&flat).ok());
          EXPECT_TRUE(std::string(flat.begin(), flat.end()) == request.SerializeAsString())
              << index << ", " << bytes << " bytes, matrix " << with_matrix;
        }
      }
    }
  }
}

TEST(FrameMessage, OwnedPixelsAreNotCopied) {
  std::vector<std::byte> pixels(70000);
  const std::byte* at = pixels.data();
  const grpc::Slice slice = OwnPixels(std::move(pixels));
  EXPECT_EQ(static_cast<const void*>(slice.begin()), at);
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(FrameMessage(3, slice, std::nullopt).Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(static_cast<const void*>(slices[1].begin()), at);
}

}  // namespace
}  // namespace isocenter::client
