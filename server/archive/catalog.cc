#include "server/archive/catalog.h"

namespace isocenter::archive {

absl::StatusOr<std::vector<PatientRow>> OwnCatalog::FindPatients(const Selection& selection, Gap&) {
  return archive_.FindPatients(selection);
}

absl::StatusOr<std::vector<StudyRow>> OwnCatalog::FindStudies(const Selection& selection, Gap&) {
  return archive_.FindStudies(selection);
}

absl::StatusOr<std::vector<SeriesRow>> OwnCatalog::FindSeries(const Selection& selection, Gap&) {
  return archive_.FindSeries(selection);
}

absl::StatusOr<std::vector<InstanceRow>> OwnCatalog::FindInstances(const std::string& series_uid,
                                                                   Purpose, Gap&) {
  return archive_.FindInstances(series_uid);
}

absl::Status OwnCatalog::FindRows(
    const ListingRequest& request,
    const std::function<void(const std::vector<std::string>&)>& on_row, Gap&) {
  return archive_.listing().Find(request, on_row);
}

absl::Status OwnCatalog::CheckFile(const std::string&, const std::filesystem::path&) {
  return absl::OkStatus();
}

}  // namespace isocenter::archive
