// Text of other systems as UTF-8.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

class DcmDataset;

namespace isocenter::dicom {

/// Converts all text of a data set to UTF-8. What DCMTK's library for that does not know, the code
/// extensions of Japanese (ISO 2022 IR 13, 87, 159), Korean (149) and Chinese (58), is decoded by
/// DecodeIso2022. False: it cannot be converted, and is as it was.
bool ConvertToUtf8(DcmDataset& dataset);

/// Text with code extensions as UTF-8; nothing when it has others than those above. `katakana`:
/// bytes of more than 127 are JIS X 0201 until an escape sequence says otherwise. Source: DICOM
/// PS3.3 C.12.1.1.2 and PS3.5 6.1.2.5.
std::optional<std::string> DecodeIso2022(absl::string_view text, bool katakana);

}  // namespace isocenter::dicom
