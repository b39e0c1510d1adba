#include "server/dicom/objects/stored_object.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcjson.h>
#include <dcmtk/dcmdata/dctk.h>

#include <array>
#include <cstddef>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/viewer/raw_volume.h"

namespace isocenter::dicom {
namespace {

// Of values that are read with the others; longer ones are pixels.
constexpr Uint32 kMostValueBytes = 4096;

absl::Status Damaged(const std::filesystem::path& file, absl::string_view why) {
  return absl::DataLossError(absl::StrCat(file.filename().string(), " cannot be read: ", why));
}

/// Up to the element `end`, of which, and of what follows, it takes nothing.
absl::Status Load(const std::filesystem::path& file, const DcmTagKey& end, DcmFileFormat& object) {
  const OFCondition loaded = object.loadFileUntilTag(file.c_str(), EXS_Unknown, EGL_noChange,
                                                     kMostValueBytes, ERM_autoDetect, end);
  if (loaded.good()) return absl::OkStatus();
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return absl::NotFoundError("the instance is not stored any more");
  }
  return Damaged(file, loaded.text());
}

class MetadataFormat : public DcmJsonFormatCompact {
 public:
  explicit MetadataFormat(const std::string& pixels)
      : DcmJsonFormatCompact(/*printMetaInfo=*/OFFalse), pixels_(pixels.c_str()) {}
  OFBool asBulkDataURI(const DcmTagKey& tag, OFString& uri) override {
    if (tag != DCM_PixelData) return OFFalse;
    uri = pixels_;
    return OFTrue;
  }

 private:
  const OFString pixels_;
};

/// The header of the element that ends the file with so many bytes of pixels, in Explicit VR Little
/// Endian.
std::array<unsigned char, 12> PixelHeader(int64_t bytes) {
  std::array<unsigned char, 12> header = {0xe0, 0x7f, 0x10, 0x00, 'O', 'W'};
  for (size_t i = 0; i < 4; ++i) header[8 + i] = static_cast<unsigned char>(bytes >> (8 * i));
  return header;
}

}  // namespace

absl::StatusOr<std::string> MetadataOf(const std::filesystem::path& file,
                                       const std::string& bulk_data_uri) {
  DcmFileFormat object;
  ISO_RETURN_IF_ERROR(Load(file, DCM_UndefinedTagKey, object));
  MetadataFormat format(bulk_data_uri);
  std::ostringstream out;
  const OFCondition written = object.getDataset()->writeJsonExt(out, format, /*printBraces=*/OFTrue,
                                                                /*printNewline=*/OFFalse);
  if (written.bad()) return Damaged(file, written.text());
  return std::move(out).str();
}

absl::StatusOr<PixelLayout> ReadPixelLayout(const std::filesystem::path& file) {
  DcmFileFormat object;
  // What frames say of themselves is long, and behind what is needed here.
  ISO_RETURN_IF_ERROR(Load(file, DCM_SharedFunctionalGroupsSequence, object));
  DcmDataset& dataset = *object.getDataset();
  Uint16 rows = 0, columns = 0, bits = 0, samples = 0, representation = 0;
  Sint32 frames = 0;
  (void)dataset.findAndGetUint16(DCM_Rows, rows);
  (void)dataset.findAndGetUint16(DCM_Columns, columns);
  (void)dataset.findAndGetUint16(DCM_BitsAllocated, bits);
  (void)dataset.findAndGetUint16(DCM_SamplesPerPixel, samples);
  (void)dataset.findAndGetUint16(DCM_PixelRepresentation, representation);
  // An image that does not say has one.
  if (dataset.findAndGetSint32(DCM_NumberOfFrames, frames).bad()) frames = 1;
  if (rows == 0 || columns == 0 || bits != 16 || samples != 1 || frames < 1) {
    return Damaged(file, "it has no pixels of 16 bits");
  }
  PixelLayout layout{.rows = rows,
                     .columns = columns,
                     .frames = frames,
                     .is_signed = representation != 0,
                     .frame_bytes = int64_t{rows} * columns * 2};
  const int64_t bytes = layout.frame_bytes * frames;
  std::error_code error;
  const auto file_bytes = static_cast<int64_t>(std::filesystem::file_size(file, error));
  layout.offset = file_bytes - bytes;
  const auto expected = PixelHeader(bytes);
  std::array<unsigned char, 12> header = {};
  if (error || layout.offset < static_cast<int64_t>(header.size())) {
    return Damaged(file, "it is shorter than its pixels");
  }
  ISO_ASSIGN_OR_RETURN(const viewer::InputFile input, viewer::InputFile::Open(file));
  ISO_RETURN_IF_ERROR(input.ReadAt(layout.offset - static_cast<int64_t>(header.size()),
                                   std::as_writable_bytes(std::span(header))));
  if (header != expected) return Damaged(file, "its pixels are not where they should be");
  return layout;
}

absl::StatusOr<Presentation> ReadPresentation(const std::filesystem::path& file) {
  DcmFileFormat object;
  ISO_RETURN_IF_ERROR(Load(file, DCM_PerFrameFunctionalGroupsSequence, object));
  Presentation presentation;
  const struct {
    DcmTagKey tag;
    double& value;
  } values[] = {{DCM_RescaleSlope, presentation.slope},
                {DCM_RescaleIntercept, presentation.intercept},
                {DCM_WindowCenter, presentation.window_center},
                {DCM_WindowWidth, presentation.window_width}};
  for (const auto& [tag, value] : values) {
    // All frames of one object share them, in a sequence.
    Float64 number = 0;
    if (object.getDataset()->findAndGetFloat64(tag, number, 0, /*searchIntoSub=*/OFTrue).bad()) {
      return Damaged(file, "it does not say how it is shown");
    }
    value = number;
  }
  return presentation;
}

}  // namespace isocenter::dicom
