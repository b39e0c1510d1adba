#include "server/dicom/objects/study_context.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcuid.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/dicom/objects/encode.h"
#include "server/dicom/objects/uids.h"

namespace isocenter::dicom {
namespace {

/// The name from which UIDs are made that the jobs of a pair share. No job has it, as ids have no
/// slashes. A pair id that two patients' acquisitions were given by mistake makes two names.
std::string SharedName(const jobs::Job& job) {
  if (job.pair_id.empty()) return job.id;
  return absl::StrCat("pair/", job.pair_id, "/", job.patient_study.patient_id);
}

}  // namespace

std::string StudyInstanceUid(const jobs::Job& job) {
  const std::string& given = job.patient_study.study_instance_uid;
  return given.empty() ? MakeUid(UidRole::kStudy, SharedName(job)) : given;
}

std::string FrameOfReferenceUid(const jobs::Job& job) {
  if (jobs::IsRefinement(job)) return job.refinement.frame_of_reference_uid;
  return MakeUid(UidRole::kFrameOfReference, SharedName(job));
}

std::string SeriesInstanceUid(const std::string& job_id, Form form) {
  return MakeUid(UidRole::kSeries, job_id, form == Form::kCtSeries ? 0 : 1);
}

const char* ModalityOf(Form form) { return form == Form::kCtSeries ? "CT" : "XA"; }

const char* SopClassUidOf(Form form) {
  return form == Form::kCtSeries ? UID_CTImageStorage : UID_XRay3DAngiographicImageStorage;
}

std::vector<FrameRange> PartsOf(int frames, int64_t frame_bytes, int64_t most_bytes) {
  const auto most_frames = std::max<int64_t>(1, most_bytes / frame_bytes);
  const auto parts = static_cast<int>((frames + most_frames - 1) / most_frames);
  std::vector<FrameRange> ranges;
  for (int i = 0; i < parts; ++i) {
    const auto first = static_cast<int>(int64_t{frames} * i / parts);
    const auto end = static_cast<int>(int64_t{frames} * (i + 1) / parts);
    ranges.push_back({first, end - first});
  }
  return ranges;
}

std::vector<SourceSeries> InForm(const std::vector<SourceSeries>& sources, Form form) {
  std::vector<SourceSeries> chosen;
  for (const SourceSeries& source : sources) {
    const auto same_job = std::ranges::find(chosen, source.job_id, &SourceSeries::job_id);
    if (same_job == chosen.end()) {
      chosen.push_back(source);
    } else if (source.form == form) {
      *same_job = source;
    }
  }
  return chosen;
}

ImageReference SliceOf(const SourceSeries& source, const VolumeGrid& grid, int slice) {
  if (source.form == Form::kCtSeries) {
    return {UID_CTImageStorage, MakeUid(UidRole::kInstance, source.job_id, slice), std::nullopt};
  }
  const int64_t frame_bytes = int64_t{grid.nx} * grid.ny * static_cast<int64_t>(sizeof(int16_t));
  const std::vector<FrameRange> parts = PartsOf(grid.nz, frame_bytes, kMostPixelBytes);
  int part = 0;
  while (slice >= parts[part].first + parts[part].count) ++part;
  return {UID_XRay3DAngiographicImageStorage, MakeUid(UidRole::kVolume, source.job_id, part),
          slice - parts[part].first + 1};
}

std::vector<ImageReference> AllOf(const SourceSeries& source) {
  const UidRole role = source.form == Form::kCtSeries ? UidRole::kInstance : UidRole::kVolume;
  std::vector<ImageReference> references;
  for (int i = 0; i < source.instances; ++i) {
    references.push_back(
        {SopClassUidOf(source.form), MakeUid(role, source.job_id, i), std::nullopt});
  }
  return references;
}

}  // namespace isocenter::dicom
