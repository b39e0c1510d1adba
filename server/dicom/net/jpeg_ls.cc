#include "server/dicom/net/jpeg_ls.h"

#include <charls/charls.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace isocenter::dicom {
namespace {

constexpr uint32_t kMostPixels = 65535;  // in one direction
constexpr int kBits = 16;
// A pixel of 16 bits has a code word of at most 2 * (16 + 16) bits (A.2.1), with the end of a run
// before it one more word of at most 16 (A.7.1.2), and after each byte of ones a bit is stuffed:
// less than 12 bytes in all.
constexpr size_t kMostBytesOfPixel = 12;
constexpr size_t kHeaderBytes = 1024;

struct EncoderDeleter {
  void operator()(charls_jpegls_encoder* encoder) const { charls_jpegls_encoder_destroy(encoder); }
};

/// Fails with destination_buffer_too_small where `encoded` is; it never writes behind it.
charls_jpegls_errc Encode(std::span<const uint16_t> pixels, const charls_frame_info& frame,
                          std::vector<uint8_t>& encoded) {
  const std::unique_ptr<charls_jpegls_encoder, EncoderDeleter> encoder(
      charls_jpegls_encoder_create());
  if (encoder == nullptr) return charls::jpegls_errc::not_enough_memory;
  auto error = charls_jpegls_encoder_set_frame_info(encoder.get(), &frame);
  if (error == charls::jpegls_errc::success) {
    error =
        charls_jpegls_encoder_set_destination_buffer(encoder.get(), encoded.data(), encoded.size());
  }
  if (error == charls::jpegls_errc::success) {
    error = charls_jpegls_encoder_encode_from_buffer(encoder.get(), pixels.data(),
                                                     pixels.size_bytes(), 0);
  }
  size_t bytes = 0;
  if (error == charls::jpegls_errc::success) {
    error = charls_jpegls_encoder_get_bytes_written(encoder.get(), &bytes);
  }
  if (error == charls::jpegls_errc::success) encoded.resize(bytes);
  return error;
}

}  // namespace

absl::StatusOr<std::vector<uint8_t>> EncodeJpegLs(std::span<const uint16_t> pixels,
                                                  uint32_t columns, uint32_t rows) {
  if (columns < 1 || columns > kMostPixels || rows < 1 || rows > kMostPixels ||
      pixels.size() != size_t{columns} * rows) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an image of ", columns, " x ", rows, " has ", pixels.size(), " pixels; legal is 1 to ",
        kMostPixels, " in each direction, and their product"));
  }
  const charls_frame_info frame = {
      .width = columns, .height = rows, .bits_per_sample = kBits, .component_count = 1};
  auto error = charls::jpegls_errc::destination_buffer_too_small;
  std::vector<uint8_t> encoded;
  // What does not get smaller is rare: noise.
  for (const size_t bytes_of_pixel : {sizeof(uint16_t), kMostBytesOfPixel}) {
    encoded.resize(pixels.size() * bytes_of_pixel + kHeaderBytes);
    error = Encode(pixels, frame, encoded);
    if (error != charls::jpegls_errc::destination_buffer_too_small) break;
  }
  if (error == charls::jpegls_errc::success) return encoded;
  return absl::InternalError(
      absl::StrCat("cannot encode JPEG-LS: ", charls_get_error_message(error)));
}

}  // namespace isocenter::dicom
