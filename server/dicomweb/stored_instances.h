// The files of stored objects that a path names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/archive/listing.h"
#include "server/audit/event.h"
#include "server/dicomweb/requests.h"

namespace isocenter::dicomweb {

struct StoredInstance {
  ObjectPath path;
  std::string sop_class_uid, patient_id;
  std::filesystem::path file;
};

/// By series, in slice order, at least one. Errors: NOT_FOUND, INVALID_ARGUMENT (more than can be
/// asked for at once).
absl::StatusOr<std::vector<StoredInstance>> FindStored(archive::Listing& listing,
                                                       const ObjectPath& path);
/// The only one, of a path that names an instance.
absl::StatusOr<StoredInstance> FindOne(archive::Listing& listing, const ObjectPath& path);

/// Tells whose they are, and how many.
void TellAudit(const std::vector<StoredInstance>& instances, audit::Event& about);

}  // namespace isocenter::dicomweb
