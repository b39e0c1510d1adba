#include "server/audit/bounds.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/audit/text.h"

namespace isocenter::audit {
namespace {

void Bound(std::vector<std::string>& texts, size_t most) {
  for (std::string& text : texts) text = Bounded(text, most);
}

void BoundKeys(std::vector<std::string>& keys) {
  if (keys.size() > kMostKeys) {
    const size_t left = keys.size() - (kMostKeys - 1);
    keys.resize(kMostKeys - 1);
    keys.push_back(absl::StrCat(left, " more keys"));
  }
  Bound(keys, kMostKeyBytes);
}

size_t PartsOf(const std::vector<std::string>& ids) {
  return (ids.size() + kMostIds - 1) / kMostIds;
}

/// The ids of the part with that index.
std::vector<std::string> PartOf(const std::vector<std::string>& ids, size_t index) {
  const size_t begin = std::min(ids.size(), index * kMostIds);
  const size_t end = std::min(ids.size(), begin + kMostIds);
  return {ids.begin() + static_cast<std::ptrdiff_t>(begin),
          ids.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace

std::vector<Event> Bounded(Event event) {
  event.actor.name = Bounded(event.actor.name, kMostNameBytes);
  event.actor.address = Bounded(event.actor.address, kMostAddressBytes);
  event.actor.certificate_subject = Bounded(event.actor.certificate_subject, kMostSubjectBytes);
  event.destination = Bounded(event.destination, kMostNameBytes);
  event.detail = Bounded(event.detail, kMostDetailBytes);
  BoundKeys(event.query);
  for (auto* ids : {&event.patient_ids, &event.study_uids, &event.job_ids})
    Bound(*ids, kMostIdBytes);
  const size_t parts = std::max(
      {PartsOf(event.patient_ids), PartsOf(event.study_uids), PartsOf(event.job_ids), size_t{1}});
  if (parts == 1) return {std::move(event)};
  std::vector<Event> all;
  for (size_t i = 0; i < parts; ++i) {
    Event& part = all.emplace_back(event);
    part.patient_ids = PartOf(event.patient_ids, i);
    part.study_uids = PartOf(event.study_uids, i);
    part.job_ids = PartOf(event.job_ids, i);
    part.part = static_cast<int>(i) + 1;
    part.parts = static_cast<int>(parts);
  }
  return all;
}

}  // namespace isocenter::audit
