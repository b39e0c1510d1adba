// The responses of C-MOVE and C-GET: the same contents in messages of their own. Source: DICOM
// PS3.7, 9.3.3 and 9.3.4.
#pragma once

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmnet/dimse.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/archive/archive.h"
#include "server/dicom/scp/session.h"

namespace isocenter::dicom {

/// Suboperations.
struct RetrieveCounts {
  size_t remaining = 0, completed = 0, failed = 0, warning = 0;
  std::string failed_uids;  // separated by backslashes

  /// One more; its UID is listed while the list fits an element.
  void Fail(const archive::InstanceRow& instance);
};

/// What the two services do differently.
class Responder {
 public:
  virtual ~Responder() = default;
  /// `identifiers`: null for none. Errors: UNAVAILABLE (the association is broken).
  virtual absl::Status Send(uint16_t status, const RetrieveCounts& counts,
                            DcmDataset* identifiers) = 0;
};

/// Of C-MOVE.
class MoveResponder : public Responder {
 public:
  MoveResponder(Session& session, uint8_t context, const T_DIMSE_C_MoveRQ& request)
      : session_(session), context_(context), request_(request) {}
  absl::Status Send(uint16_t status, const RetrieveCounts& counts,
                    DcmDataset* identifiers) override;

 private:
  Session& session_;
  uint8_t context_;
  const T_DIMSE_C_MoveRQ& request_;
};

/// Of C-GET.
class GetResponder : public Responder {
 public:
  GetResponder(Session& session, uint8_t context, const T_DIMSE_C_GetRQ& request)
      : session_(session), context_(context), request_(request) {}
  absl::Status Send(uint16_t status, const RetrieveCounts& counts,
                    DcmDataset* identifiers) override;

 private:
  Session& session_;
  uint8_t context_;
  const T_DIMSE_C_GetRQ& request_;
};

}  // namespace isocenter::dicom
