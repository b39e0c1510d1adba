#include "server/config/protocol_book.h"

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/text_format.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/geometry.h"
#include "server/config/dicom_config.h"
#include "server/config/mistakes.h"
#include "server/config/server_config.h"

namespace isocenter::config {
namespace {

// In the same form as a configuration file, so that a site can copy an entry and change it.
constexpr char kBuiltIn[] = R"pb(
  protocol {
    name: "fdk"
    description: "Feldkamp-Davis-Kress with the unwindowed ramp filter: the reference for accuracy."
    filter_window: FILTER_WINDOW_RAM_LAK
  }
  protocol {
    name: "fdk_fast"
    description: "As fdk, up to 1.5 times as fast on a GPU, within 0.05 HU inside a head."
    precision: PRECISION_FAST
  }
  protocol {
    name: "fdk_sharp"
    description: "Feldkamp-Davis-Kress with the Shepp-Logan filter: bone and fine detail."
    filter_window: FILTER_WINDOW_SHEPP_LOGAN
  }
  protocol {
    name: "fdk_smooth"
    description: "Feldkamp-Davis-Kress with a Hann window that ends at 0.8 of the Nyquist frequency: soft tissue."
    filter_window: FILTER_WINDOW_HANN
    filter_cutoff: 0.8
  }
  protocol {
    name: "fdk_truncated"
    description: "As fdk_smooth for objects wider than the detector: cut rows go on as cylinders of water."
    filter_window: FILTER_WINDOW_HANN
    filter_cutoff: 0.8
    corrections { truncation: TRUNCATION_CYLINDER }
  }
  protocol {
    name: "fdk_then_completed_rows"
    description: "As fdk_truncated, then cut rows go on as a model of what all frames see: trunks wider than the detector."
    filter_window: FILTER_WINDOW_HANN
    filter_cutoff: 0.8
    corrections { truncation: TRUNCATION_CYLINDER }
    refinement { second_pass { complete_rows: true } }
  }
  protocol {
    name: "fdk_then_ossart"
    description: "As fdk_smooth, then ordered-subset SART: cone-beam artefacts and streaks of sparse or short arcs."
    filter_window: FILTER_WINDOW_HANN
    filter_cutoff: 0.8
    refinement {
      algorithm: REFINEMENT_ALGORITHM_OS_SART
      iterations: 5
      relaxation: 0.7
      relaxation_decay: 0.8
    }
  }
  protocol {
    name: "fdk_then_pwls_tv"
    description: "As fdk_smooth, then penalised weighted least squares with an edge-preserving prior: low dose."
    filter_window: FILTER_WINDOW_HANN
    filter_cutoff: 0.8
    refinement {
      algorithm: REFINEMENT_ALGORITHM_OS_SQS
      statistical_weights: true
      prior_strength: 0.1
    }
  }
  protocol {
    name: "fdk_then_asd_pocs"
    description: "As fdk_smooth, then total variation by ASD-POCS: few frames."
    filter_window: FILTER_WINDOW_HANN
    filter_cutoff: 0.8
    refinement { algorithm: REFINEMENT_ALGORITHM_ASD_POCS prior_strength: 3 }
  }
)pb";

absl::StatusOr<ops::FilterWindow> WindowOf(v1::FilterWindow window) {
  switch (window) {
    case v1::FILTER_WINDOW_UNSPECIFIED:
    case v1::FILTER_WINDOW_RAM_LAK:
      return ops::FilterWindow::kRamLak;
    case v1::FILTER_WINDOW_SHEPP_LOGAN:
      return ops::FilterWindow::kSheppLogan;
    case v1::FILTER_WINDOW_COSINE:
      return ops::FilterWindow::kCosine;
    case v1::FILTER_WINDOW_HAMMING:
      return ops::FilterWindow::kHamming;
    case v1::FILTER_WINDOW_HANN:
      return ops::FilterWindow::kHann;
    default:
      return absl::InvalidArgumentError(absl::StrCat("filter_window is ", static_cast<int>(window),
                                                     "; legal is a FilterWindow of this version"));
  }
}

absl::StatusOr<ops::Precision> PrecisionOf(v1::Precision precision) {
  switch (precision) {
    case v1::PRECISION_EXACT:
      return ops::Precision::kExact;
    case v1::PRECISION_FAST:
      return ops::Precision::kFast;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("precision is ", static_cast<int>(precision),
                       "; legal is PRECISION_EXACT or PRECISION_FAST"));
  }
}

absl::StatusOr<RedundancyWeighting> RedundancyOf(v1::RedundancyWeights weights) {
  switch (weights) {
    case v1::REDUNDANCY_WEIGHTS_UNSPECIFIED:
    case v1::REDUNDANCY_WEIGHTS_AUTO:
      return RedundancyWeighting::kAuto;
    case v1::REDUNDANCY_WEIGHTS_SHORT_SCAN:
      return RedundancyWeighting::kShortScan;
    case v1::REDUNDANCY_WEIGHTS_FULL_SCAN:
      return RedundancyWeighting::kFullScan;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("redundancy_weights is ", static_cast<int>(weights),
                       "; legal is a RedundancyWeights of this version"));
  }
}

/// The boolean of older versions, which knows one method only, and the choice become one.
absl::StatusOr<ops::Truncation> ResolveTruncation(v1::Corrections& corrections) {
  const v1::Truncation chosen = corrections.truncation();
  if (corrections.extend_truncated_rows() && chosen != v1::TRUNCATION_UNSPECIFIED &&
      chosen != v1::TRUNCATION_MIRROR) {
    return absl::InvalidArgumentError(
        absl::StrCat("corrections.truncation is ", static_cast<int>(chosen),
                     " with extend_truncated_rows; legal is TRUNCATION_MIRROR or none"));
  }
  const auto resolve = [&](v1::Truncation as, ops::Truncation method) {
    corrections.set_truncation(as);
    corrections.set_extend_truncated_rows(as == v1::TRUNCATION_MIRROR);
    return method;
  };
  switch (chosen) {
    case v1::TRUNCATION_UNSPECIFIED:
      return corrections.extend_truncated_rows()
                 ? resolve(v1::TRUNCATION_MIRROR, ops::Truncation::kMirror)
                 : resolve(v1::TRUNCATION_NONE, ops::Truncation::kNone);
    case v1::TRUNCATION_NONE:
      return resolve(chosen, ops::Truncation::kNone);
    case v1::TRUNCATION_MIRROR:
      return resolve(chosen, ops::Truncation::kMirror);
    case v1::TRUNCATION_CYLINDER:
      return resolve(chosen, ops::Truncation::kCylinder);
    case v1::TRUNCATION_ATRACT:
      return resolve(chosen, ops::Truncation::kAtract);
    default:
      return absl::InvalidArgumentError(absl::StrCat("corrections.truncation is ",
                                                     static_cast<int>(chosen),
                                                     "; legal is a Truncation of this version"));
  }
}

absl::StatusOr<jobs::MissingFramesPolicy> PolicyOf(v1::MissingFramesPolicy policy) {
  switch (policy) {
    case v1::MISSING_FRAMES_POLICY_FAIL:
      return jobs::MissingFramesPolicy::kFail;
    case v1::MISSING_FRAMES_POLICY_INTERPOLATE:
      return jobs::MissingFramesPolicy::kInterpolate;
    case v1::MISSING_FRAMES_POLICY_REWEIGHT:
      return jobs::MissingFramesPolicy::kReweight;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("missing_frames.policy is ", static_cast<int>(policy),
                       "; legal is a MissingFramesPolicy of this version"));
  }
}

void ApplyDefaults(v1::MissingFrames& missing) {
  if (missing.policy() == v1::MISSING_FRAMES_POLICY_UNSPECIFIED) {
    missing.set_policy(v1::MISSING_FRAMES_POLICY_INTERPOLATE);
  }
  if (missing.longest_gap() == 0) missing.set_longest_gap(4);
  if (missing.most_missing() == 0) missing.set_most_missing(0.05);
}

absl::StatusOr<jobs::MissingFrames> MissingFramesOf(const v1::MissingFrames& missing) {
  Mistakes mistakes;
  if (missing.longest_gap() < 1 || missing.longest_gap() > 100) {
    mistakes.Add(absl::InvalidArgumentError(absl::StrCat(
        "missing_frames.longest_gap is ", missing.longest_gap(), "; legal is 1 to 100")));
  }
  if (!(missing.most_missing() > 0 && missing.most_missing() <= 0.5)) {
    mistakes.Add(absl::InvalidArgumentError(absl::StrCat("missing_frames.most_missing is ",
                                                         missing.most_missing(),
                                                         "; legal is more than 0, at most 0.5")));
  }
  const absl::StatusOr<jobs::MissingFramesPolicy> policy = PolicyOf(missing.policy());
  mistakes.Add(policy.status());
  ISO_RETURN_IF_ERROR(mistakes.status());
  return jobs::MissingFrames{.policy = *policy,
                             .longest_gap = static_cast<int>(missing.longest_gap()),
                             .most_missing = missing.most_missing()};
}

/// Both forms when none is named.
absl::StatusOr<jobs::DicomForms> FormsOf(v1::ReconstructionProtocol& protocol) {
  if (protocol.dicom_forms().empty()) {
    protocol.add_dicom_forms(v1::DICOM_FORM_CT_SERIES);
    protocol.add_dicom_forms(v1::DICOM_FORM_XRAY_3D);
  }
  jobs::DicomForms forms{.ct_series = false, .xray_3d = false};
  for (const int form : protocol.dicom_forms()) {
    bool* const chosen = form == v1::DICOM_FORM_CT_SERIES ? &forms.ct_series
                         : form == v1::DICOM_FORM_XRAY_3D ? &forms.xray_3d
                                                          : nullptr;
    if (chosen == nullptr || *chosen) {
      return absl::InvalidArgumentError(
          absl::StrCat("dicom_forms has ", form, chosen == nullptr ? "" : " twice",
                       "; legal are DICOM_FORM_CT_SERIES and DICOM_FORM_XRAY_3D, once each"));
    }
    *chosen = true;
  }
  return forms;
}

absl::StatusOr<jobs::CalibrationPolicy> CalibrationPolicyOf(v1::CalibrationPolicy policy) {
  switch (policy) {
    case v1::CALIBRATION_POLICY_UNSPECIFIED:
    case v1::CALIBRATION_POLICY_NONE:
      return jobs::CalibrationPolicy::kNone;
    case v1::CALIBRATION_POLICY_WARN:
      return jobs::CalibrationPolicy::kWarn;
    case v1::CALIBRATION_POLICY_REQUIRE:
      return jobs::CalibrationPolicy::kRequire;
    case v1::CALIBRATION_POLICY_REQUIRE_VERIFIED:
      return jobs::CalibrationPolicy::kRequireVerified;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("corrections.calibration is ", static_cast<int>(policy),
                       "; legal are CALIBRATION_POLICY_NONE, CALIBRATION_POLICY_WARN, "
                       "CALIBRATION_POLICY_REQUIRE and CALIBRATION_POLICY_REQUIRE_VERIFIED"));
  }
}

absl::Status CheckName(const std::string& name) {
  bool legal = !name.empty() && name.size() <= 64;
  for (const char c : name) {
    legal = legal && (absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_');
  }
  if (legal) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("name is '", name, "'; legal are 1 to 64 characters of [a-z0-9_]"));
}

absl::StatusOr<Protocol> Translate(const v1::ReconstructionProtocol& given) {
  Protocol protocol{.description = given};
  v1::ReconstructionProtocol& resolved = protocol.description;
  if (resolved.filter_window() == v1::FILTER_WINDOW_UNSPECIFIED) {
    resolved.set_filter_window(v1::FILTER_WINDOW_RAM_LAK);
  }
  if (resolved.redundancy_weights() == v1::REDUNDANCY_WEIGHTS_UNSPECIFIED) {
    resolved.set_redundancy_weights(v1::REDUNDANCY_WEIGHTS_AUTO);
  }
  if (resolved.precision() == v1::PRECISION_UNSPECIFIED) {
    resolved.set_precision(v1::PRECISION_EXACT);
  }
  if (resolved.filter_cutoff() == 0) resolved.set_filter_cutoff(1);
  if (resolved.mu_water_per_mm() == 0) resolved.set_mu_water_per_mm(0.02);
  if (!resolved.grid().has_fixed() && resolved.grid().auto_().size() == 0) {
    resolved.mutable_grid()->mutable_auto_()->set_size(256);
  }
  ApplyDefaults(*resolved.mutable_missing_frames());

  Mistakes mistakes;
  mistakes.Add(CheckName(resolved.name()));
  mistakes.Take(WindowOf(resolved.filter_window()), protocol.settings.window);
  mistakes.Take(RedundancyOf(resolved.redundancy_weights()), protocol.settings.redundancy);
  mistakes.Take(MissingFramesOf(resolved.missing_frames()), protocol.missing_frames);
  mistakes.Take(PrecisionOf(resolved.precision()), protocol.settings.precision);
  mistakes.Take(FormsOf(resolved), protocol.dicom_forms);
  mistakes.Take(CalibrationPolicyOf(resolved.corrections().calibration()),
                protocol.calibration_policy);
  mistakes.Take(ResolveTruncation(*resolved.mutable_corrections()), protocol.settings.truncation);
  protocol.settings.cutoff = resolved.filter_cutoff();
  protocol.settings.mu_water_per_mm = resolved.mu_water_per_mm();
  // Each by itself, as it tells of the first alone.
  mistakes.Add(recon::ValidateFdkSettings({.cutoff = resolved.filter_cutoff()}));
  mistakes.Add(recon::ValidateFdkSettings({.mu_water_per_mm = resolved.mu_water_per_mm()}));
  if (resolved.grid().has_fixed()) {
    mistakes.Take(wire::GridFromProto(resolved.grid().fixed()), protocol.fixed_grid);
  } else {
    const uint32_t size = resolved.grid().auto_().size();
    if (size < 16 || size > 2048) {
      mistakes.Add(absl::InvalidArgumentError(
          absl::StrCat("grid.auto.size is ", size, "; legal is 16 to 2048")));
    }
    protocol.auto_grid_size = static_cast<int>(size);
  }
  if (resolved.has_refinement()) {
    ApplyRefinementDefaults(*resolved.mutable_refinement());
    mistakes.Take(RefinementFromProto(resolved.refinement(), protocol.settings.precision),
                  protocol.refinement);
  }
  ISO_RETURN_IF_ERROR(mistakes.status());
  return protocol;
}

}  // namespace

std::vector<v1::ReconstructionProtocol> BuiltInProtocols() {
  v1::ServerConfig config;
  google::protobuf::TextFormat::ParseFromString(kBuiltIn, &config);
  return {config.protocol().begin(), config.protocol().end()};
}

absl::StatusOr<Protocol> ProtocolFromProto(const v1::ReconstructionProtocol& protocol) {
  absl::StatusOr<Protocol> made = Translate(protocol);
  if (made.ok()) return made;
  // Each mistake is a line, which is read by itself.
  const std::string name = absl::StrCat("protocol '", protocol.name(), "': ");
  return absl::InvalidArgumentError(absl::StrCat(
      name, absl::StrReplaceAll(made.status().message(), {{"\n", absl::StrCat("\n", name)}})));
}

namespace {

/// Frames that no calibration corrects have no bone table and no scatter model. A recipe that was
/// asked for of frames that have one is legal all the same.
absl::Status CheckHasCalibration(const Protocol& protocol) {
  const v1::ReconstructionProtocol& entry = protocol.description;
  const v1::SecondPass& second_pass = entry.refinement().second_pass();
  if ((!second_pass.bone() && !second_pass.scatter()) ||
      protocol.calibration_policy != jobs::CalibrationPolicy::kNone) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("protocol '", entry.name(), "': refinement.second_pass.",
                   second_pass.bone() ? "bone" : "scatter",
                   " is true and corrections.calibration is "
                   "CALIBRATION_POLICY_NONE; legal with it are CALIBRATION_POLICY_WARN, "
                   "CALIBRATION_POLICY_REQUIRE and CALIBRATION_POLICY_REQUIRE_VERIFIED"));
}

/// Of which job a volume is an earlier one is known when a job is refined, and not before.
absl::Status CheckNamesNoJob(const v1::ReconstructionProtocol& protocol) {
  const std::string& job = protocol.refinement().second_pass().reference_job_id();
  if (job.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "protocol '", protocol.name(), "': refinement.second_pass.reference_job_id is '", job,
      "'; legal is none in a protocol: `isocenter refine JOB --self-calibrate --reference JOB2` "
      "names one"));
}

}  // namespace

absl::StatusOr<ProtocolBook> ProtocolBook::Make(const v1::ServerConfig& config) {
  ProtocolBook book;
  for (const v1::ReconstructionProtocol& entry : BuiltInProtocols()) {
    ISO_ASSIGN_OR_RETURN(book.protocols_[entry.name()], ProtocolFromProto(entry));
  }
  Mistakes mistakes;
  std::set<std::string> configured;
  for (const v1::ReconstructionProtocol& entry : config.protocol()) {
    if (!configured.insert(entry.name()).second) {
      mistakes.Add(absl::InvalidArgumentError(absl::StrCat(
          "protocol.name is '", entry.name(), "' in two entries; legal is once each")));
      continue;
    }
    absl::StatusOr<Protocol> protocol = ProtocolFromProto(entry);
    mistakes.Add(protocol.ok() ? CheckHasCalibration(*protocol) : protocol.status());
    mistakes.Add(CheckNamesNoJob(entry));
    // Of one that is refused the name is known all the same: who uses it is not mistaken, too.
    book.protocols_[entry.name()] = protocol.ok() ? *std::move(protocol) : Protocol();
  }
  book.default_name_ = config.default_protocol();
  const absl::Status found = book.Find(book.default_name_).status();
  if (!found.ok()) {
    mistakes.Add(absl::InvalidArgumentError(absl::StrCat("default_protocol: ", found.message())));
  }
  for (const v1::DicomDestination& destination : config.dicom_node().destination()) {
    for (const std::string& name : destination.protocol()) {
      const absl::Status known =
          name.empty() ? absl::NotFoundError("protocol is ''; legal is the name of a protocol")
                       : book.Find(name).status();
      if (!known.ok()) {
        mistakes.Add(absl::InvalidArgumentError(absl::StrCat(
            "dicom_node.destination '", DestinationName(destination), "': ", known.message())));
      }
    }
  }
  ISO_RETURN_IF_ERROR(mistakes.status());
  return book;
}

absl::StatusOr<const Protocol*> ProtocolBook::Find(const std::string& name) const {
  const auto found = protocols_.find(name.empty() ? default_name_ : name);
  if (found != protocols_.end()) return &found->second;
  std::vector<std::string> names;
  for (const auto& [known, protocol] : protocols_) names.push_back(known);
  return absl::NotFoundError(absl::StrCat("protocol is '", name.substr(0, 80), "'; there are: ",
                                          absl::StrJoin(names, ", "), DidYouMean(name, names)));
}

absl::StatusOr<const Protocol*> ProtocolBook::FindRefinement(const std::string& name) const {
  ISO_ASSIGN_OR_RETURN(const Protocol* protocol, Find(name));
  if (protocol->refinement) return protocol;
  std::vector<std::string> refining;
  for (const auto& [other, candidate] : protocols_) {
    if (candidate.refinement) refining.push_back(other);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("protocol is '", protocol->description.name(),
                   "', which has no refinement; legal are: ", absl::StrJoin(refining, ", ")));
}

}  // namespace isocenter::config
