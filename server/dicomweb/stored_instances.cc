#include "server/dicomweb/stored_instances.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::dicomweb {
namespace {

// Some hundred bytes each, for as long as the client takes.
constexpr int64_t kMostInstances = 65536;

}  // namespace

absl::StatusOr<std::vector<StoredInstance>> FindStored(archive::Catalog& catalog,
                                                       const ObjectPath& path, archive::Gap& gap) {
  using archive::Field;
  archive::ListingRequest request{
      .level = archive::ListingLevel::kInstance,
      .fields = {Field::kStudyUid, Field::kSeriesUid, Field::kSopInstanceUid, Field::kSopClassUid,
                 Field::kPatientId, Field::kFile, Field::kNode},
      .limit = kMostInstances + 1};
  request.selection.study_uids = {path.study};
  if (!path.series.empty()) request.selection.series_uids = {path.series};
  if (!path.instance.empty()) request.selection.sop_instance_uids = {path.instance};
  std::vector<StoredInstance> instances;
  std::vector<std::string> nodes;  // that have them
  ISO_RETURN_IF_ERROR(catalog.FindRows(
      request,
      [&](const std::vector<std::string>& row) {
        instances.push_back({.path = {row[0], row[1], row[2]},
                             .sop_class_uid = row[3],
                             .patient_id = row[4],
                             .file = row[5]});
        nodes.push_back(row[6]);
      },
      gap));
  if (instances.empty() && !gap.empty()) {
    return absl::UnavailableError(
        absl::StrCat("nothing is known here of ", UrlOf(kRoot, path), ": ", gap));
  }
  if (instances.empty()) {
    return absl::NotFoundError(absl::StrCat("nothing is stored of ", UrlOf(kRoot, path)));
  }
  if (instances.size() > kMostInstances) {
    return absl::InvalidArgumentError(
        absl::StrCat(UrlOf(kRoot, path), " has more than ", kMostInstances,
                     " instances; legal are studies and series of fewer"));
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].empty()) ISO_RETURN_IF_ERROR(catalog.CheckFile(nodes[i], instances[i].file));
  }
  if (!path.series.empty()) gap.clear();  // a series is whole wherever it is
  return instances;
}

absl::StatusOr<StoredInstance> FindOne(archive::Catalog& catalog, const ObjectPath& path) {
  archive::Gap gap;
  ISO_ASSIGN_OR_RETURN(std::vector<StoredInstance> found, FindStored(catalog, path, gap));
  return std::move(found.front());
}

void TellGap(const archive::Gap& gap, http::Response& response) {
  if (gap.empty()) return;
  response.status = 206;
  Warn(absl::StrCat("Not all instances are known: ", gap), response);
}

void TellAudit(const std::vector<StoredInstance>& instances, audit::Event& about) {
  about.instances = static_cast<int64_t>(instances.size());
  about.study_uids = {instances.front().path.study};
  // A study is one patient's.
  if (!instances.front().patient_id.empty()) {
    about.patient_ids = {instances.front().patient_id};
  }
}

}  // namespace isocenter::dicomweb
