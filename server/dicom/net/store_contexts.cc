#include "server/dicom/net/store_contexts.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcuid.h>
#include <dcmtk/dcmnet/assoc.h>

#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace isocenter::dicom {
namespace {

constexpr int kLastContextId = 255;

/// What instances are sent in unless compression is preferred: as they are stored, then as every
/// node must be able to take them.
std::array<const char*, 2> UncompressedSyntaxes() {
  return {UID_LittleEndianExplicitTransferSyntax, UID_LittleEndianImplicitTransferSyntax};
}

bool PeerReceives(T_ASC_SC_ROLE role) {
  return role == ASC_SC_ROLE_SCP || role == ASC_SC_ROLE_SCUSCP;
}

absl::Status Propose(T_ASC_Parameters& parameters, int id, const std::string& sop_class,
                     const char** syntaxes, int count) {
  if (id > kLastContextId) {
    return absl::InternalError("an association has room for 128 presentation contexts");
  }
  const OFCondition added =
      ASC_addPresentationContext(&parameters, static_cast<T_ASC_PresentationContextID>(id),
                                 sop_class.c_str(), syntaxes, count);
  return added.good() ? absl::OkStatus()
                      : absl::InternalError(absl::StrCat("cannot propose to send instances of ",
                                                         sop_class, ": ", added.text()));
}

}  // namespace

bool IsStorageClass(absl::string_view sop_class_uid) {
  return sop_class_uid == UID_CTImageStorage || sop_class_uid == UID_XRay3DAngiographicImageStorage;
}

absl::Status ProposeStoreContexts(T_ASC_Parameters& parameters,
                                  const std::vector<std::string>& sop_class_uids,
                                  Compression preferred, uint8_t first_id) {
  int id = first_id;
  for (const std::string& sop_class : sop_class_uids) {
    if (preferred != Compression::kNone) {
      const char* compressed = TransferSyntaxUid(preferred);
      const absl::Status status = Propose(parameters, id, sop_class, &compressed, 1);
      if (!status.ok()) return status;
      id += 2;
    }
    std::array<const char*, 2> uncompressed = UncompressedSyntaxes();
    const absl::Status status = Propose(parameters, id, sop_class, uncompressed.data(),
                                        static_cast<int>(uncompressed.size()));
    if (!status.ok()) return status;
    id += 2;
  }
  return absl::OkStatus();
}

const char* ChooseStoreTransferSyntax(const T_ASC_PresentationContext& proposed) {
  for (const char* ours :
       {UID_LittleEndianExplicitTransferSyntax, UID_LittleEndianImplicitTransferSyntax,
        UID_JPEGLSLosslessTransferSyntax, UID_RLELosslessTransferSyntax}) {
    for (int i = 0; i < proposed.transferSyntaxCount; ++i) {
      if (std::strcmp(proposed.proposedTransferSyntaxes[i], ours) == 0) return ours;
    }
  }
  return nullptr;
}

std::optional<StoreContext> FindStoreContext(T_ASC_Association& association,
                                             absl::string_view sop_class_uid, Compression preferred,
                                             bool we_requested) {
  std::optional<StoreContext> found;
  const int count = ASC_countPresentationContexts(association.params);
  for (int i = 0; i < count; ++i) {
    T_ASC_PresentationContext context;
    if (ASC_getPresentationContext(association.params, i, &context).bad()) continue;
    if (context.resultReason != ASC_P_ACCEPTANCE || sop_class_uid != context.abstractSyntax ||
        !IsSupportedTransferSyntax(context.acceptedTransferSyntax) ||
        !(we_requested || PeerReceives(context.acceptedRole))) {
      continue;
    }
    const StoreContext candidate{context.presentationContextID, context.acceptedTransferSyntax};
    if (candidate.transfer_syntax_uid == TransferSyntaxUid(preferred)) return candidate;
    if (!found) found = candidate;
  }
  return found;
}

}  // namespace isocenter::dicom
