// Stored instances in the transfer syntax that a destination takes.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

class DcmFileFormat;

namespace isocenter::dicom {

/// Lossless compression of pixels on their way to a destination. The archive holds them as they
/// are, so that viewers on this machine and repeated exports need no decoder.
enum class Compression { kNone, kRleLossless, kJpegLsLossless };

/// The transfer syntax that `compression` stands for; Explicit VR Little Endian for kNone.
const char* TransferSyntaxUid(Compression compression);

/// Whether LoadAs() can make it: Explicit and Implicit VR Little Endian, RLE Lossless, JPEG-LS
/// Lossless.
bool IsSupportedTransferSyntax(absl::string_view transfer_syntax_uid);

/// Reads a stored instance and gives it the transfer syntax. UIDs, pixel values and all other
/// attributes stay as they are. Uncompressed pixels stay in the file until they are written, so
/// that sending a volume of gigabytes takes little memory; compressed ones are encoded before this
/// returns. Thread-safe; takes a core. Whoever calls it includes dcmtk/dcmdata/dctk.h.
///
/// Errors: NOT_FOUND (the file is gone, as its job was deleted), DATA_LOSS (it is no DICOM file),
/// INVALID_ARGUMENT (another transfer syntax), INTERNAL (the encoder fails).
absl::StatusOr<std::unique_ptr<DcmFileFormat>> LoadAs(const std::filesystem::path& file,
                                                      absl::string_view transfer_syntax_uid);

}  // namespace isocenter::dicom
