#include "server/http/job_json.h"

#include <algorithm>
#include <bit>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "server/jobs/job_members.h"

namespace isocenter::http {
namespace {

static_assert(std::endian::native == std::endian::little, "previews are sent as they are");

Json ErrorJson(const absl::Status& error) {
  if (error.ok()) return nullptr;
  return {{"code", CodeName(error.code())}, {"message", std::string(error.message())}};
}

template <class T>
Json MembersJson(const T& object);

Json ValueJson(absl::Time time) { return TimeJson(time); }
template <class T>
Json ValueJson(const T& value) {
  if constexpr (jobs::HasMembers<T>) {
    return MembersJson(value);
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(Name(value));
  } else {
    return value;
  }
}
template <class T>
Json ValueJson(const std::optional<T>& value) {
  return value ? ValueJson(*value) : Json(nullptr);
}
template <class T>
Json ValueJson(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(ValueJson(value));
  return array;
}

bool IsEmpty(const std::string& text) { return text.empty(); }
bool IsEmpty(double number) { return !(number > 0); }
bool IsEmpty(const auto&) { return false; }

/// Collects the members that are shown, by their places.
struct ShownMembers {
  std::map<int, std::pair<const char*, Json>>& shown;

  void operator()(const char* name, const auto& value, const jobs::Shown& how = {}) const {
    if (how.place == 0) return;
    shown[how.place] = {how.name == nullptr ? name : how.name,
                        how.null_if_empty && IsEmpty(value) ? Json(nullptr) : ValueJson(value)};
  }
};

template <class T>
Json MembersJson(const T& object) {
  std::map<int, std::pair<const char*, Json>> shown;
  jobs::VisitMembers(ShownMembers{shown}, object);
  Json json = Json::object();
  for (auto& [place, member] : shown) json[member.first] = std::move(member.second);
  return json;
}

}  // namespace

Json TimeJson(absl::Time time) {
  if (time == absl::InfinitePast() || time == absl::InfiniteFuture()) return nullptr;
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

Json TextJson(absl::string_view text) {
  if (text.empty()) return nullptr;
  return std::string(text);
}

Json GridJson(const jobs::Job& job) {
  const VolumeGrid grid = PatientGrid(job.grid, job.facts.patient_position);
  return {{"nx", grid.nx},
          {"ny", grid.ny},
          {"nz", grid.nz},
          {"spacing_mm", {grid.spacing.x, grid.spacing.y, grid.spacing.z}},
          {"origin_mm", {grid.origin.x, grid.origin.y, grid.origin.z}},
          {"direction", grid.direction}};
}

namespace {

/// Each once, in the order of their first.
Json WarningKindsJson(const std::vector<jobs::JobWarning>& warnings) {
  Json kinds = Json::array();
  for (const jobs::JobWarning& warning : warnings) {
    Json kind = ValueJson(warning.kind);
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(std::move(kind));
  }
  return kinds;
}

}  // namespace

Json JobJson(const jobs::Job& job, std::optional<double> frames_per_second) {
  const bool completed = job.state == jobs::JobState::kCompleted;
  const std::string& study = job.result.study_instance_uid.empty()
                                 ? job.patient_study.study_instance_uid
                                 : job.result.study_instance_uid;
  return {
      {"job_id", job.id},
      {"state", ValueJson(job.state)},
      {"job_class", ValueJson(job.job_class)},
      {"protocol", job.protocol},
      {"station_name", TextJson(job.station_name)},
      {"accession_number", TextJson(job.patient_study.accession_number)},
      {"study_instance_uid", TextJson(study)},
      {"pair_id", TextJson(job.pair_id)},
      {"pair_role", ValueJson(job.pair_role)},
      {"refines_job_id",
       jobs::IsRefinement(job) ? Json(job.source_job_ids.front()) : Json(nullptr)},
      {"second_pass", SecondPassJson(job.refinement.second_pass)},
      {"phase", job.refinement.phase ? MembersJson(*job.refinement.phase) : Json(nullptr)},
      {"phase_cycle", !jobs::IsRefinement(job) && job.facts.phase_cycle
                          ? ValueJson(*job.facts.phase_cycle)
                          : Json(nullptr)},
      {"source_job_ids", job.source_job_ids},
      {"create_time", TimeJson(job.create_time)},
      {"end_time", jobs::HasEnded(job.state) ? TimeJson(job.end_time) : Json(nullptr)},
      {"deadline", TimeJson(job.deadline)},
      {"predicted_finish_time",
       job.state >= jobs::JobState::kExporting ? Json(nullptr) : TimeJson(job.predicted_finish)},
      {"awaits_console_until_time",
       jobs::AwaitsConsole(job) ? TimeJson(job.awaits_console_until) : Json(nullptr)},
      {"error", ErrorJson(job.error)},
      {"progress", MembersJson(job.progress)},
      {"frames_per_second", OptionalJson(frames_per_second)},
      {"has_preview", job.preview != nullptr},
      {"warning_count", job.warnings.size()},
      {"warning_kinds", WarningKindsJson(job.warnings)},
      {"result", completed ? MembersJson(job.result) : Json(nullptr)}};
}

Json SecondPassJson(const std::optional<jobs::SecondPassFacts>& second_pass) {
  return ValueJson(second_pass);
}

Json RefinementJson(const jobs::Job& job) {
  return jobs::IsRefinement(job) ? MembersJson(job.refinement) : Json(nullptr);
}

void AddDetails(const jobs::Job& job, Json& json) {
  json["grid"] = GridJson(job);
  json["acquisition"] = MembersJson(job.facts);
  json["refinement"] = RefinementJson(job);
  json["findings"] = ValueJson(job.refinement.findings);
  json["warnings"] = ValueJson(job.warnings);
  const bool completed = job.state == jobs::JobState::kCompleted;
  // A subtraction is made of stored volumes, without a device.
  json["has_trace"] = completed && job.pair_role != jobs::PairRole::kSubtraction;
  json["has_volume"] = completed;
}

Json PreviewJson(const jobs::Preview& preview) {
  Json planes = Json::array();
  for (const jobs::PreviewPlane& plane : preview.planes) {
    const absl::string_view pixels(reinterpret_cast<const char*>(plane.hounsfield.data()),
                                   plane.hounsfield.size() * sizeof(int16_t));
    planes.push_back({{"orientation", ValueJson(plane.orientation)},
                      {"columns", plane.columns},
                      {"rows", plane.rows},
                      {"column_spacing_mm", plane.column_spacing_mm},
                      {"row_spacing_mm", plane.row_spacing_mm},
                      {"hounsfield_base64", absl::Base64Escape(pixels)}});
  }
  return {{"frames_backprojected", preview.frames_backprojected}, {"planes", std::move(planes)}};
}

}  // namespace isocenter::http
