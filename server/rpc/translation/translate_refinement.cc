#include "server/rpc/translation/translate_refinement.h"

#include <google/protobuf/text_format.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/rpc/translation/field_checks.h"

namespace isocenter::rpc {
namespace {

constexpr double kLongestDeadline = 604800;  // a week, in seconds

absl::StatusOr<jobs::JobClass> ClassOf(v1::JobClass job_class) {
  switch (job_class) {
    case v1::JOB_CLASS_UNSPECIFIED:
    case v1::JOB_CLASS_INTERACTIVE:
      return jobs::JobClass::kInteractive;
    case v1::JOB_CLASS_BATCH:
      return jobs::JobClass::kBatch;
    default:
      return Illegal("job_class", absl::StrCat(static_cast<int>(job_class)),
                     "JOB_CLASS_INTERACTIVE or JOB_CLASS_BATCH");
  }
}

/// As text, whose encoding is ASCII: job records are text.
std::string RecordOf(const v1::ReconstructionProtocol& protocol) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintToString(protocol, &text);
  return text;
}

/// The filter and the water of a protocol, with the second pass that was asked for.
absl::StatusOr<config::Protocol> SecondPassProtocol(const v1::RefineJobRequest& request,
                                                    const std::string& source_protocol,
                                                    const config::ProtocolBook& protocols) {
  const bool named = !request.protocol().empty();
  ISO_ASSIGN_OR_RETURN(const config::Protocol* protocol,
                       protocols.Find(named ? request.protocol() : source_protocol));
  v1::ReconstructionProtocol description = protocol->description;
  if (named && description.has_refinement() && !description.refinement().has_second_pass()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "second_pass is set with protocol '", request.protocol(), "', which refines by ",
        v1::RefinementAlgorithm_Name(description.refinement().algorithm()),
        "; legal is a protocol without iterations, or none: that of the job"));
  }
  description.mutable_refinement()->Clear();
  *description.mutable_refinement()->mutable_second_pass() = request.second_pass();
  return config::ProtocolFromProto(description);
}

absl::StatusOr<config::Protocol> ProtocolOf(const v1::RefineJobRequest& request,
                                            const std::string& source_protocol,
                                            const config::ProtocolBook& protocols) {
  if (request.has_second_pass()) return SecondPassProtocol(request, source_protocol, protocols);
  ISO_ASSIGN_OR_RETURN(const config::Protocol* protocol,
                       protocols.FindRefinement(request.protocol()));
  return *protocol;
}

}  // namespace

std::optional<pipeline::RefinementRequest> RefinementOf(const config::Protocol& protocol) {
  if (!protocol.refinement) return std::nullopt;
  return pipeline::RefinementRequest{.protocol = protocol.description.name(),
                                     .fdk = protocol.settings,
                                     .settings = protocol.refinement->settings,
                                     .deadline = protocol.refinement->deadline,
                                     .dicom_forms = protocol.dicom_forms,
                                     .record = RecordOf(protocol.description)};
}

absl::StatusOr<pipeline::RefinementRequest> TranslateRefineRequest(
    const v1::RefineJobRequest& request, const std::string& source_protocol,
    const config::ProtocolBook& protocols) {
  ISO_RETURN_IF_ERROR(CheckIdentifier("request_id", request.request_id()));
  if (!(request.deadline_seconds() >= 0 && request.deadline_seconds() <= kLongestDeadline)) {
    return Illegal("deadline_seconds", absl::StrCat(request.deadline_seconds()),
                   absl::StrCat("0 to ", kLongestDeadline));
  }
  ISO_ASSIGN_OR_RETURN(const jobs::JobClass job_class, ClassOf(request.job_class()));
  ISO_ASSIGN_OR_RETURN(const config::Protocol protocol,
                       ProtocolOf(request, source_protocol, protocols));
  pipeline::RefinementRequest translated = *RefinementOf(protocol);
  translated.job_class = job_class;
  translated.request_id = request.request_id();
  if (request.deadline_seconds() > 0) {
    translated.deadline = absl::Seconds(request.deadline_seconds());
  }
  return translated;
}

absl::StatusOr<pipeline::RefinementRequest> TranslateRefinementRecord(const std::string& record) {
  v1::ReconstructionProtocol kept;
  if (!google::protobuf::TextFormat::ParseFromString(record, &kept)) {
    return absl::DataLossError(
        absl::StrCat("the recipe of a refinement, ", record.size(), " bytes, cannot be read"));
  }
  ISO_ASSIGN_OR_RETURN(const config::Protocol protocol, config::ProtocolFromProto(kept));
  std::optional<pipeline::RefinementRequest> request = RefinementOf(protocol);
  if (!request) return absl::DataLossError("the recipe of a refinement has none");
  return *std::move(request);
}

}  // namespace isocenter::rpc
