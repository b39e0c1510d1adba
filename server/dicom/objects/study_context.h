// What the objects of a job have to fit to: its study, and the volumes that it was made of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/archive/records.h"
#include "server/jobs/job.h"

namespace isocenter::dicom {

/// The study of a job: as the console gave it, else made from the job's id, or for the jobs of a
/// pair from the pair's.
std::string StudyInstanceUid(const jobs::Job& job);
/// The patient's position in the scanner: one for each job and its refinements, or for each pair.
std::string FrameOfReferenceUid(const jobs::Job& job);

/// The form of a series.
enum class Form { kCtSeries, kXray3d };
std::string SeriesInstanceUid(const std::string& job_id, Form form);
/// As Series::modality and Instance::sop_class_uid have it.
const char* ModalityOf(Form form);
const char* SopClassUidOf(Form form);

/// The part of an X-Ray 3D volume that one object holds. A volume has several when its pixels are
/// too many for one element.
struct FrameRange {
  int first = 0, count = 0;
};
/// All parts, of `frame_bytes` of pixels per frame; as few as `most_bytes` per part allow, about
/// equal.
std::vector<FrameRange> PartsOf(int frames, int64_t frame_bytes, int64_t most_bytes);

/// A stored series of a volume that another was made of.
struct SourceSeries {
  std::string job_id, series_instance_uid;
  Form form = Form::kCtSeries;
  int instances = 0;
};

struct StudyContext {
  int series_number = 1;  // of the job's first series in its study; others follow
  /// The study as other series have it; what the job does not say of it is taken from there.
  std::optional<archive::Study> study;
  /// Of the jobs whose volumes a subtraction was made of, or of the one that a refinement refines:
  /// all that is stored of them. Their volumes have its grid.
  std::vector<SourceSeries> sources;
};

/// One series of each job: in the given form where there is one, else in the other.
std::vector<SourceSeries> InForm(const std::vector<SourceSeries>& sources, Form form);

/// An object, or one frame of it, that another refers to.
struct ImageReference {
  const char* sop_class_uid = "";
  std::string sop_instance_uid;
  std::optional<int> frame;  // from 1
};

/// The slice of a source, 0 to nz - 1.
ImageReference SliceOf(const SourceSeries& source, const VolumeGrid& grid, int slice);
/// All objects of a source.
std::vector<ImageReference> AllOf(const SourceSeries& source);

}  // namespace isocenter::dicom
