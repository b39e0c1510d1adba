#include "server/rpc/translation/translate_refinement.h"

#include <google/protobuf/text_format.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/gating/along_cycle.h"
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

/// Of a protocol without a refinement: a volume of a phase, which whoever asks for it adds.
pipeline::RefinementRequest RequestOf(const config::Protocol& protocol) {
  pipeline::RefinementRequest request{.protocol = protocol.description.name(),
                                      .fdk = protocol.settings,
                                      .settings = recon::GatedSettings(),
                                      .dicom_forms = protocol.dicom_forms,
                                      .record = RecordOf(protocol.description)};
  if (protocol.refinement) {
    request.reference_job_id = protocol.description.refinement().second_pass().reference_job_id();
    request.settings = protocol.refinement->settings;
    request.deadline = protocol.refinement->deadline;
  }
  return request;
}

constexpr double kDefaultWidth = 0.2;

absl::StatusOr<PhaseWindow> WindowOf(const v1::PhaseWindow& phase) {
  const uint32_t most = recon::kMostPhases;
  if (phase.of_phases() == 1 || phase.of_phases() > most) {
    return Illegal("phase.of_phases", absl::StrCat(phase.of_phases()),
                   absl::StrCat("0, 2 to ", most));
  }
  if (!(phase.phase() >= 0 && phase.phase() < 1)) {
    return Illegal("phase.phase", absl::StrCat(phase.phase()), "0 to less than 1");
  }
  if (!(phase.width() >= 0 && phase.width() <= 1)) {
    return Illegal("phase.width", absl::StrCat(phase.width()), "0 to 1");
  }
  const double width = phase.of_phases() > 0 ? 1.0 / phase.of_phases() : kDefaultWidth;
  return PhaseWindow{.centre = phase.phase(), .width = phase.width() > 0 ? phase.width() : width};
}

/// The protocol that is asked for, or that of the job without what follows its first volume.
absl::StatusOr<config::Protocol> PhaseProtocol(const v1::RefineJobRequest& request,
                                               const std::string& source_protocol,
                                               const config::ProtocolBook& protocols) {
  if (request.has_second_pass()) {
    return absl::InvalidArgumentError("second_pass is set with phase; legal is one of them");
  }
  const bool named = !request.protocol().empty();
  ISO_ASSIGN_OR_RETURN(const config::Protocol* protocol,
                       protocols.Find(named ? request.protocol() : source_protocol));
  if (named && protocol->description.refinement().has_second_pass()) {
    return absl::InvalidArgumentError(
        absl::StrCat("phase is set with protocol '", request.protocol(),
                     "', which has a second pass; legal is a protocol without"));
  }
  const uint32_t early_passes = protocol->description.refinement().early_passes();
  if (named && early_passes > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("phase is set with protocol '", request.protocol(), "', which has ",
                     early_passes, " early passes; legal is a protocol without"));
  }
  if (named) return *protocol;
  v1::ReconstructionProtocol description = protocol->description;
  description.clear_refinement();
  return config::ProtocolFromProto(description);
}

absl::StatusOr<pipeline::RefinementRequest> PhaseOf(const v1::RefineJobRequest& request,
                                                    const std::string& source_protocol,
                                                    const config::ProtocolBook& protocols) {
  ISO_ASSIGN_OR_RETURN(const PhaseWindow window, WindowOf(request.phase()));
  ISO_ASSIGN_OR_RETURN(const config::Protocol protocol,
                       PhaseProtocol(request, source_protocol, protocols));
  pipeline::RefinementRequest translated = RequestOf(protocol);
  recon::GatedSettings gated{.window = window};
  if (const auto* const iterative = std::get_if<recon::IterativeSettings>(&translated.settings)) {
    gated.iterative = *iterative;
  }
  translated.settings = gated;
  translated.of_phases = static_cast<int>(request.phase().of_phases());
  return translated;
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
  return RequestOf(protocol);
}

absl::StatusOr<pipeline::RefinementRequest> TranslateRefineRequest(
    const v1::RefineJobRequest& request, const std::string& source_protocol,
    const config::ProtocolBook& protocols) {
  ISO_RETURN_IF_ERROR(CheckIdentifier("request_id", request.request_id()));
  ISO_RETURN_IF_ERROR(
      CheckIdentifier("second_pass.reference_job_id", request.second_pass().reference_job_id()));
  if (!(request.deadline_seconds() >= 0 && request.deadline_seconds() <= kLongestDeadline)) {
    return Illegal("deadline_seconds", absl::StrCat(request.deadline_seconds()),
                   absl::StrCat("0 to ", kLongestDeadline));
  }
  ISO_ASSIGN_OR_RETURN(const jobs::JobClass job_class, ClassOf(request.job_class()));
  pipeline::RefinementRequest translated;
  if (request.has_phase()) {
    ISO_ASSIGN_OR_RETURN(translated, PhaseOf(request, source_protocol, protocols));
  } else {
    ISO_ASSIGN_OR_RETURN(const config::Protocol protocol,
                         ProtocolOf(request, source_protocol, protocols));
    translated = *RefinementOf(protocol);
  }
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
  return RequestOf(protocol);
}

}  // namespace isocenter::rpc
