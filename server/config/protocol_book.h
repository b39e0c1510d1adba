// The reconstruction protocols that the service offers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "isocenter/v1/protocols.pb.h"
#include "isocenter/v1/server_config.pb.h"
#include "kernels/geometry/volume_grid.h"
#include "kernels/recon/plan.h"
#include "server/config/refinement_translation.h"
#include "server/jobs/calibrations.h"
#include "server/jobs/job.h"

namespace isocenter::config {

/// A protocol as it was configured, with defaults resolved, and what it means to the numerics.
struct Protocol {
  v1::ReconstructionProtocol description;
  recon::FdkSettings settings;
  /// Grid of acquisitions that name none; unset: a cube of auto_grid_size over the field of view.
  std::optional<VolumeGrid> fixed_grid;
  int auto_grid_size = 256;
  jobs::MissingFrames missing_frames;
  std::optional<RefinementRecipe> refinement;
  jobs::DicomForms dicom_forms;
  jobs::CalibrationPolicy calibration_policy = jobs::CalibrationPolicy::kNone;
};

/// Protocols that exist without any configuration: fdk, fdk_fast, fdk_sharp, fdk_smooth,
/// fdk_truncated, fdk_then_completed_rows, fdk_then_ossart, fdk_then_pwls_tv, fdk_then_asd_pocs.
std::vector<v1::ReconstructionProtocol> BuiltInProtocols();

/// Resolves defaults and translates: an entry of the configuration, or what a spooled job brings
/// with it. Errors: INVALID_ARGUMENT naming the protocol, the field, its value and what is legal.
absl::StatusOr<Protocol> ProtocolFromProto(const v1::ReconstructionProtocol& protocol);

/// Immutable.
class ProtocolBook {
 public:
  /// The built-in protocols and those of the configuration, which replace built-in ones of the same
  /// name. `config` has its defaults. Errors: INVALID_ARGUMENT (a protocol that is not legal, a
  /// name that is used twice, a default that does not exist).
  static absl::StatusOr<ProtocolBook> Make(const v1::ServerConfig& config);

  /// `name` empty: the default protocol. The pointer lives as long as the book. Errors: NOT_FOUND,
  /// listing what exists.
  absl::StatusOr<const Protocol*> Find(const std::string& name) const;

  /// The protocol, which has a refinement. Errors: NOT_FOUND, listing what exists;
  /// INVALID_ARGUMENT, listing those that refine.
  absl::StatusOr<const Protocol*> FindRefinement(const std::string& name) const;

  /// By name.
  const std::map<std::string, Protocol>& all() const { return protocols_; }
  const std::string& default_name() const { return default_name_; }

 private:
  std::map<std::string, Protocol> protocols_;
  std::string default_name_;
};

}  // namespace isocenter::config
