// What the responses of C-FIND, C-MOVE and C-GET begin with. Source: DICOM PS3.7, 9.3.2 to 9.3.4.
#pragma once

#include <cstdint>

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

}  // namespace isocenter::dicom
