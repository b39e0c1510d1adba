// What the responses of C-FIND, C-MOVE and C-GET begin with. Source: DICOM PS3.7, 9.3.2 to 9.3.4.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/dicom/net/dimse.h"

namespace isocenter::dicom {

/// Answers `request`, with a data set unless `identifiers` is null; everything else of the message,
/// `opts` among it, is 0.
template <class Response, class Request>
Response ResponseTo(const Request& request, uint16_t status, const DcmDataset* identifiers) {
  Response response = {};
  response.MessageIDBeingRespondedTo = request.MessageID;
  response.DimseStatus = status;
  response.DataSetType = identifiers == nullptr ? DIMSE_DATASET_NULL : DIMSE_DATASET_PRESENT;
  Copy(request.AffectedSOPClassUID, response.AffectedSOPClassUID);
  return response;
}

/// What is sent along with a status to say what it means here; null: nothing.
inline std::unique_ptr<DcmDataset> ErrorComment(const std::string& comment) {
  constexpr size_t kMostCharacters = 64;  // of an LO
  if (comment.empty()) return nullptr;
  auto detail = std::make_unique<DcmDataset>();
  (void)detail->putAndInsertString(DCM_ErrorComment, comment.substr(0, kMostCharacters).c_str());
  return detail;
}

}  // namespace isocenter::dicom
