// Stored scatter, whose checksum is made right.
#include <cstddef>
#include <cstdint>
#include <span>

#include "client/formats/scatter_file.h"
#include "isocenter/v1/physics.pb.h"
#include "kernels/base/crc32c.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  v1::StoredScatter message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto bytes = [](const google::protobuf::RepeatedField<float>& numbers) {
    return std::as_bytes(std::span(numbers.data(), static_cast<size_t>(numbers.size())));
  };
  message.set_readings_crc32c(
      ExtendCrc32c(Crc32c(bytes(message.signal())), bytes(message.variance())));
  (void)formats::ParseScatter(message.SerializeAsString());
  return 0;
}
