// The files of stored objects that a path names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/archive/catalog.h"
#include "server/audit/event.h"
#include "server/dicomweb/requests.h"

namespace isocenter::dicomweb {

struct StoredInstance {
  ObjectPath path;
  std::string sop_class_uid, patient_id;
  std::filesystem::path file;
};

/// By series, in slice order, at least one. `gap`: why there may be more. Errors: NOT_FOUND,
/// INVALID_ARGUMENT (more than can be asked for at once), UNAVAILABLE (nothing is found where not
/// all is known; a file that only another node can read, which is named).
absl::StatusOr<std::vector<StoredInstance>> FindStored(archive::Catalog& catalog,
                                                       const ObjectPath& path, archive::Gap& gap);
/// The only one, of a path that names an instance.
absl::StatusOr<StoredInstance> FindOne(archive::Catalog& catalog, const ObjectPath& path);

/// Makes an answer with what is known one that says that it is not all (PS3.18, 8.5.1: 206).
void TellGap(const archive::Gap& gap, http::Response& response);

/// Tells whose they are, and how many.
void TellAudit(const std::vector<StoredInstance>& instances, audit::Event& about);

}  // namespace isocenter::dicomweb
