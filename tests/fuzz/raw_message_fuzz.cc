// Messages of a console's stream, cut into pieces as the network does. Whatever the reader makes of
// one without copying it must be what protobuf makes of it.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "server/rpc/raw_message.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool quiet = (google::protobuf::SetLogHandler(nullptr), true);
  (void)quiet;
  fuzz::Input input(data, size);
  const size_t piece = input.TakeNumber<uint8_t>() + size_t{1};
  const absl::string_view bytes = input.TakeRest();
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    slices.emplace_back(std::string(bytes.substr(at, piece)));
  }
  const rpc::RawMessage raw(grpc::ByteBuffer(slices.data(), slices.size()));

  v1::AcquireRequest expected;
  const bool legal = expected.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  fuzz::Require(raw.Parse().ok() == legal, "Parse takes what protobuf takes");
  const auto frame = raw.AsFrame();
  fuzz::Require(frame.ok() == legal, "AsFrame takes what protobuf takes");
  if (!legal) return 0;
  fuzz::Require(frame->has_value() == expected.has_frame(), "a frame is a frame");
  if (!expected.has_frame()) return 0;
  std::string pixels;
  for (const auto& part : (*frame)->pixels) {
    pixels.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  v1::Frame fields = (*frame)->fields;
  fuzz::Require(fields.pixels().empty(), "the fields are without pixels");
  fields.set_pixels(std::move(pixels));
  expected.mutable_frame()->DiscardUnknownFields();
  fields.DiscardUnknownFields();
  fuzz::Require(fields.SerializeAsString() == expected.frame().SerializeAsString(),
                "the frame is protobuf's");
  return 0;
}
