#include "server/dicom/objects/encode.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcostrmb.h>
#include <dcmtk/dcmdata/dctk.h>

#include <array>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace isocenter::dicom {
namespace {

static_assert(std::endian::native == std::endian::little, "pixels are written as they are");

// Besides what DCMTK counts: preamble, file meta information.
constexpr size_t kMetaBytes = 4096;

/// Header of the pixel data element: tag (7FE0,0010), OW, two reserved bytes, 32 bits of length.
std::array<std::byte, 12> PixelDataHeader(uint32_t bytes) {
  const uint8_t header[] = {0xe0, 0x7f, 0x10, 0x00, 'O', 'W', 0, 0};
  std::array<std::byte, 12> result;
  std::memcpy(result.data(), header, sizeof header);
  std::memcpy(result.data() + sizeof header, &bytes, sizeof bytes);
  return result;
}

}  // namespace

absl::StatusOr<std::vector<std::byte>> EncodeUpToPixels(std::unique_ptr<DcmDataset> dataset,
                                                        int64_t pixel_bytes) {
  if (pixel_bytes < 0 || pixel_bytes > kMostPixelBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an object of ", pixel_bytes, " bytes of pixels; legal is up to ", kMostPixelBytes));
  }
  const size_t most =
      dataset->calcElementLength(EXS_LittleEndianExplicit, EET_UndefinedLength) + kMetaBytes;
  DcmFileFormat file(dataset.release(), OFFalse);  // takes ownership
  std::vector<std::byte> bytes(most);
  DcmOutputBufferStream stream(bytes.data(), static_cast<offile_off_t>(bytes.size()));
  file.transferInit();
  const OFCondition condition =
      file.write(stream, EXS_LittleEndianExplicit, EET_UndefinedLength, nullptr, EGL_recalcGL);
  file.transferEnd();
  if (condition.bad()) {
    return absl::InternalError(absl::StrCat("cannot encode a data set: ", condition.text()));
  }
  void* written = nullptr;
  offile_off_t length = 0;
  stream.flushBuffer(written, length);
  bytes.resize(static_cast<size_t>(length));
  const auto header = PixelDataHeader(static_cast<uint32_t>(pixel_bytes));
  bytes.insert(bytes.end(), header.begin(), header.end());
  return bytes;
}

}  // namespace isocenter::dicom
