// Files of calibration sets. An input is a message, whose header is made right, then what is
// changed of the file: the first byte says how many bytes are, three each say where and how.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "kernels/base/crc32c.h"
#include "proto/wire/calibration.h"
#include "proto/wire/calibration_file.h"
#include "tests/fuzz/input.h"

using namespace isocenter;        // NOLINT
using namespace isocenter::wire;  // NOLINT

namespace {

std::string FileOf(absl::string_view message) {
  std::string file = CalibrationFile({});
  const uint64_t bytes = message.size();
  const uint32_t crc = Crc32c(std::as_bytes(std::span(message.data(), message.size())));
  std::memcpy(file.data() + 8, &bytes, sizeof bytes);
  std::memcpy(file.data() + 16, &crc, sizeof crc);
  const uint32_t header_crc = Crc32c(std::as_bytes(std::span(file.data(), 20)));
  std::memcpy(file.data() + 20, &header_crc, sizeof header_crc);
  return file + std::string(message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const auto changes = input.TakeNumber<uint8_t>();
  std::string changed;
  for (int i = 0; i < changes % 4; ++i) changed += std::string(input.Take(3));
  changed.resize(3 * (changes % 4));
  std::string file = FileOf(input.TakeRest());
  for (size_t at = 0; at < changed.size(); at += 3) {
    uint16_t where = 0;
    std::memcpy(&where, &changed[at], sizeof where);
    file[where % file.size()] = static_cast<char>(file[where % file.size()] ^ changed[at + 2]);
  }
  const auto set = ParseCalibrationFile(file);
  if (!set.ok()) return 0;
  const auto calibration = CalibrationFromProto(*set);
  if (!calibration.ok()) return 0;
  // What is legal is legal again after a round trip.
  v1::CalibrationSet again = ToProto(*calibration);
  again.MergeFrom(CalibrationLabel(*set));
  fuzz::Require(CalibrationFromProto(again).ok(), "a legal calibration stays legal");
  return 0;
}
