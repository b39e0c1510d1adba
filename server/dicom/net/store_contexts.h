// Presentation contexts of C-STORE: which transfer syntax an instance is sent in.
// Source: DICOM PS3.8, 7.1.1.13 and PS3.7, D.3.3.4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/dicom/net/transcode.h"

struct T_ASC_Association;
struct T_ASC_Parameters;
struct T_ASC_PresentationContext;

namespace isocenter::dicom {

/// Whether the archive can hold instances of the class: CT Image, X-Ray 3D Angiographic Image.
bool IsStorageClass(absl::string_view sop_class_uid);

/// Proposes to send instances of each class, uncompressed and, if `preferred` says so, compressed.
/// The two are contexts of their own, as a peer accepts one transfer syntax per context. Contexts
/// are numbered from `first_id`, an odd number. INTERNAL (more than 128 contexts).
absl::Status ProposeStoreContexts(T_ASC_Parameters& parameters,
                                  const std::vector<std::string>& sop_class_uids,
                                  Compression preferred, uint8_t first_id = 1);

/// The transfer syntax in which we would send, of those that a peer proposes: as instances are
/// stored, if it takes that; null when it takes none of ours.
const char* ChooseStoreTransferSyntax(const T_ASC_PresentationContext& proposed);

struct StoreContext {
  uint8_t id = 0;
  std::string transfer_syntax_uid;
};

/// The accepted context in which an instance of the class goes to the other side, one with the
/// preferred compression before others. Nothing when there is none. `we_requested`: the association
/// is ours; else only contexts count in which the peer receives (C-GET).
std::optional<StoreContext> FindStoreContext(T_ASC_Association& association,
                                             absl::string_view sop_class_uid, Compression preferred,
                                             bool we_requested);

}  // namespace isocenter::dicom
