#include "server/dicom/net/library.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmnet/dimse.h>
#include <dcmtk/dcmnet/dul.h>
#include <dcmtk/oflog/oflog.h>

namespace isocenter::dicom {
namespace {

constexpr int kConnectSeconds = 5;

}  // namespace

void ConfigureLibrary() {
  // Its own log may hold names of patients; what operators need is in ours.
  OFLog::configure(OFLogger::OFF_LOG_LEVEL);
  dcmDisableGethostbyaddr.set(OFTrue);  // no name look-up for every connection
  dcmConnectionTimeout.set(kConnectSeconds);
}

}  // namespace isocenter::dicom
