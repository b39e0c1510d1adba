#include "server/dicom/net/failure_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "dcmtk/dcmnet/cond.h"

namespace isocenter::dicom {
namespace {

/// What stands behind the name of an error: of the operating system, or of the TLS library.
absl::string_view Cause(absl::string_view text) {
  const size_t colon = text.find(": ");
  return colon == absl::string_view::npos ? "" : text.substr(colon + 2);
}

std::string With(absl::string_view what, absl::string_view cause) {
  return cause.empty() ? std::string(what) : absl::StrCat(what, ": ", cause);
}

}  // namespace

std::string FailureText(const OFCondition& condition) {
  const absl::string_view text = condition.text();
  if (condition.module() != OFM_dcmnet) return std::string(text);
  switch (condition.code()) {
    case DULC_TCPINITERROR:
    case DULC_REQUESTASSOCIATIONFAILED:
      return With("no connection came about", Cause(text));
    case DULC_UNKNOWNHOST:
      return "no address is known of the host";
    case DULC_TLSERROR:
      return With("TLS failed", Cause(text));
    case DULC_TCPIOERROR:
    case DULC_NETWORKCLOSED:
      return With("the connection broke", Cause(text));
    case DULC_READTIMEOUT:
      return "no answer came in time";
    case DULC_PEERABORTEDASSOCIATION:
      return "the peer aborted the association, or closed the connection";
    case DULC_ASSOCIATIONREJECTED:
      return "the peer rejected the association";
    default:
      return std::string(text);
  }
}

std::string RejectionText(T_ASC_Parameters& parameters) {
  constexpr char kRejected[] = "the peer rejected the association";
  T_ASC_RejectParameters rejection;
  if (ASC_getRejectParameters(&parameters, &rejection).bad()) return kRejected;
  switch (rejection.reason) {
    case ASC_REASON_SU_CALLEDAETITLENOTRECOGNIZED:
      return absl::StrCat(kRejected, ": it is not called so (called AE title not recognized)");
    case ASC_REASON_SU_CALLINGAETITLENOTRECOGNIZED:
      return absl::StrCat(kRejected, ": it does not know us (calling AE title not recognized)");
    case ASC_REASON_SU_APPCONTEXTNAMENOTSUPPORTED:
      return absl::StrCat(kRejected, ": application context name not supported");
    case ASC_REASON_SP_ACSE_PROTOCOLVERSIONNOTSUPPORTED:
      return absl::StrCat(kRejected, ": protocol version not supported");
    case ASC_REASON_SP_PRES_TEMPORARYCONGESTION:
      return absl::StrCat(kRejected, ": temporary congestion");
    case ASC_REASON_SP_PRES_LOCALLIMITEXCEEDED:
      return absl::StrCat(kRejected, ": it serves as many as it may (local limit exceeded)");
    default:
      return absl::StrCat(kRejected, " without a reason");
  }
}

}  // namespace isocenter::dicom
