// Who was exposed, and when: from an angiographic run into an acquisition's header.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/formats/dicom/xa_attributes.h"
#include "isocenter/v1/acquisition.pb.h"

namespace isocenter::formats {

/// Patient and study as UTF-8, whatever the object's character set; tube voltage, body part and
/// station as AcquisitionHeader allows them. Text beyond ASCII without a character set is UTF-8
/// where it can be, else Latin-1, as is most such text; what does not convert from the set that is
/// named is left empty. Both are told in `notes`.
void CopyXaIdentity(const XaAttributes& run, v1::AcquisitionHeader& header,
                    std::vector<std::string>& notes);

/// Frames per second of the exposure: from Frame Time, Frame Time Vector or the frames' own
/// acquisition times; nothing where none is stated.
std::optional<double> XaFrameRate(const XaAttributes& run);

}  // namespace isocenter::formats
