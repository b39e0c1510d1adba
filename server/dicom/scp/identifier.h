// The identifier of a query or retrieval as keys.
#pragma once

#include "server/dicom/scp/query.h"

class DcmDataset;

namespace isocenter::dicom {

/// The keys of an identifier, with values in UTF-8, converted from its Specific Character Set;
/// where that cannot be done the values are taken as they are. Changes the identifier.
KeyValues KeysOf(DcmDataset& identifier);

}  // namespace isocenter::dicom
