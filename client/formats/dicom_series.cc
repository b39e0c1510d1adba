#include "client/formats/dicom_series.h"

#include <dcmtk/config/osconfig.h>
//
#include <dcmtk/dcmdata/dctk.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/formats/dicom/file_bounds.h"
#include "client/formats/dicom/first_ct.h"
#include "client/formats/dicom/series_facts.h"
#include "client/formats/dicom/xa_attributes.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {
namespace {

struct Slice {
  std::string file;
  std::string series_uid;
  Vec3 position;
  Vec3 row_direction, column_direction;  // directions of growing column and row index
  double row_spacing = 0, column_spacing = 0;
  int rows = 0, columns = 0;
  std::vector<float> hounsfield;
};

/// What a place or a direction may be: products of such numbers stay numbers.
constexpr double kMostMm = 1e6;

/// Reads values of a decimal-string element, and names its attribute where one is none.
absl::Status ReadDoubles(DcmDataset& data, const DcmTagKey& tag, const std::string& file,
                         const char* attribute, std::span<double> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (data.findAndGetFloat64(tag, values[i], i).bad() || !std::isfinite(values[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": ", attribute, " is missing or not a number"));
    }
    if (std::abs(values[i]) > kMostMm) {
      return absl::InvalidArgumentError(absl::StrCat(file, ": ", attribute, " has the value ",
                                                     values[i], "; legal is -", kMostMm, " to ",
                                                     kMostMm));
    }
  }
  return absl::OkStatus();
}

/// Pixel values of one slice in HU.
absl::Status ReadPixels(DcmDataset& data, Slice& slice) {
  Uint16 rows = 0, columns = 0, bits = 0, is_signed = 0, samples = 1;
  data.findAndGetUint16(DCM_Rows, rows);
  data.findAndGetUint16(DCM_Columns, columns);
  data.findAndGetUint16(DCM_BitsAllocated, bits);
  data.findAndGetUint16(DCM_PixelRepresentation, is_signed);
  data.findAndGetUint16(DCM_SamplesPerPixel, samples);
  if (bits != 16 || samples != 1) {
    return absl::InvalidArgumentError(absl::StrCat(slice.file, ": ", bits, " bits and ", samples,
                                                   " samples per pixel; legal is 16 and 1"));
  }
  slice.rows = rows;
  slice.columns = columns;
  double slope = 1, intercept = 0;
  data.findAndGetFloat64(DCM_RescaleSlope, slope);
  data.findAndGetFloat64(DCM_RescaleIntercept, intercept);
  const Uint16* pixels = nullptr;
  unsigned long count = 0;
  if (data.chooseRepresentation(EXS_LittleEndianExplicit, nullptr).bad() ||
      data.findAndGetUint16Array(DCM_PixelData, pixels, &count).bad() ||
      count < static_cast<unsigned long>(rows) * columns) {
    return absl::InvalidArgumentError(absl::StrCat(
        slice.file,
        ": pixel data are missing, truncated or compressed; decompress with dcmdjpeg or gdcmconv"));
  }
  slice.hounsfield.resize(size_t{rows} * columns);
  for (size_t i = 0; i < slice.hounsfield.size(); ++i) {
    const double value = is_signed ? static_cast<Sint16>(pixels[i]) : pixels[i];
    slice.hounsfield[i] = static_cast<float>(value * slope + intercept);
  }
  return absl::OkStatus();
}

/// Whether a file is to be read as DICOM: it begins so, or has nothing to begin with, or its name
/// says so. Passed over in silence, such a one would be missed as a gap beside innocent files.
bool IsMeantAsDicom(const std::filesystem::path& path) {
  std::error_code unreadable;
  return IsDicomFile(path) || std::filesystem::file_size(path, unreadable) == 0 ||
         absl::EqualsIgnoreCase(path.extension().string(), ".dcm");
}

/// Whether the file is a CT image, which is then in `format`.
absl::StatusOr<bool> LoadCt(const std::filesystem::path& path, DcmFileFormat& format) {
  if (!IsMeantAsDicom(path)) return false;
  if (const absl::Status bounded = CheckDicomFile(path); !bounded.ok()) {
    return absl::Status(bounded.code(), absl::StrCat(path.string(), ": ", bounded.message()));
  }
  if (format.loadFile(path.c_str()).bad()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), " cannot be read as a DICOM file; copy it again"));
  }
  DcmDataset& data = *format.getDataset();
  return DicomText(data, DCM_Modality) == "CT" && data.tagExists(DCM_PixelData);
}

/// CT images may leave Rescale Type out where it is HU (PS3.3 C.8.2.1); any other value is another
/// scale, e.g. US (unspecified) of many cone-beam scanners.
absl::Status CheckHounsfield(DcmDataset& data, const std::string& file) {
  const std::string type = DicomText(data, DCM_RescaleType);
  if (type.empty() || type == "HU") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": Rescale Type is '", type,
                   "', so that its numbers are no Hounsfield units; legal is HU, or none"));
}

/// Nothing when the file is not a CT image.
absl::StatusOr<std::vector<Slice>> ReadSlice(const std::filesystem::path& path) {
  DcmFileFormat format;
  ISO_ASSIGN_OR_RETURN(const bool is_ct, LoadCt(path, format));
  if (!is_ct) return std::vector<Slice>();
  DcmDataset& data = *format.getDataset();
  OFString series_uid;
  data.findAndGetOFString(DCM_SeriesInstanceUID, series_uid);
  Slice slice{.file = path.string(), .series_uid = series_uid.c_str()};
  double position[3], orientation[6], spacing[2];
  ISO_RETURN_IF_ERROR(ReadDoubles(data, DCM_ImagePositionPatient, slice.file,
                                  "Image Position (Patient)", position));
  ISO_RETURN_IF_ERROR(ReadDoubles(data, DCM_ImageOrientationPatient, slice.file,
                                  "Image Orientation (Patient)", orientation));
  ISO_RETURN_IF_ERROR(ReadDoubles(data, DCM_PixelSpacing, slice.file, "Pixel Spacing", spacing));
  slice.position = {position[0], position[1], position[2]};
  slice.row_direction = {orientation[0], orientation[1], orientation[2]};
  slice.column_direction = {orientation[3], orientation[4], orientation[5]};
  slice.row_spacing = spacing[0];
  slice.column_spacing = spacing[1];
  ISO_RETURN_IF_ERROR(CheckHounsfield(data, slice.file));
  ISO_RETURN_IF_ERROR(ReadPixels(data, slice));
  std::vector<Slice> one;
  one.push_back(std::move(slice));
  return one;
}

absl::Status CheckAlike(const Slice& first, const Slice& other) {
  if (other.series_uid != first.series_uid) {
    return absl::InvalidArgumentError(absl::StrCat(
        "more than one series: ", first.file, " and ", other.file,
        " have different Series Instance UIDs; give a directory that holds one series"));
  }
  // In files with few digits; of small pixels a thousandth.
  const double digits = std::min(1e-4, 1e-3 * std::min(first.row_spacing, first.column_spacing));
  const bool alike = other.rows == first.rows && other.columns == first.columns &&
                     std::abs(other.row_spacing - first.row_spacing) < digits &&
                     std::abs(other.column_spacing - first.column_spacing) < digits &&
                     Norm(other.row_direction - first.row_direction) < 1e-3 &&
                     Norm(other.column_direction - first.column_direction) < 1e-3;
  if (alike) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(first.file, " and ", other.file, " differ in size, spacing or orientation"));
}

absl::StatusOr<std::vector<std::filesystem::path>> FilesOf(const std::filesystem::path& directory) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  if (error) {
    return absl::NotFoundError(
        absl::StrCat("cannot list ", directory.string(), ": ", error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The CT slices among the files of a directory.
absl::StatusOr<std::vector<Slice>> ReadSlices(const std::filesystem::path& directory) {
  ISO_ASSIGN_OR_RETURN(const auto files, FilesOf(directory));
  std::vector<Slice> slices;
  for (const std::filesystem::path& file : files) {
    ISO_ASSIGN_OR_RETURN(std::vector<Slice> slice, ReadSlice(file));
    for (Slice& s : slice) slices.push_back(std::move(s));
  }
  if (slices.size() < 2) {
    return absl::NotFoundError(absl::StrCat(directory.string(), " holds ", slices.size(),
                                            " DICOM CT slices; at least 2 are needed"));
  }
  for (const Slice& slice : slices) ISO_RETURN_IF_ERROR(CheckAlike(slices.front(), slice));
  return slices;
}

/// Which two neighbours are not as far apart as the others, or not on one line: the slices
/// themselves may be right, and what is missing lies between them. `slices`: sorted, 2 and more.
std::string UnevenNeighbours(const Vec3& normal, const std::vector<Slice>& slices) {
  std::vector<double> distances;
  for (size_t k = 0; k + 1 < slices.size(); ++k) {
    distances.push_back(Dot(slices[k + 1].position - slices[k].position, normal));
  }
  const auto between = [&](size_t k) {
    const auto place = [&](size_t i) {
      return absl::StrCat(slices[i].file, " (at ", Dot(slices[i].position, normal), " mm)");
    };
    return absl::StrCat(place(k), " and ", place(k + 1));
  };
  std::vector<double> sorted = distances;
  std::ranges::sort(sorted);
  const double usual = sorted[(sorted.size() - 1) / 2];
  // Of double slices, a thousandth of the mean distance may be digits.
  const double mean = (Dot(slices.back().position - slices.front().position, normal)) /
                      static_cast<double>(distances.size());
  const auto nearest = std::ranges::min_element(distances);
  if (*nearest <= 1e-3 * mean) {
    return absl::StrCat(between(nearest - distances.begin()),
                        " are at the same place: one of them is double");
  }
  const auto farthest = std::ranges::max_element(distances);
  if (*farthest > 1.05 * usual) {
    std::string text = absl::StrCat("between ", between(farthest - distances.begin()), " are ",
                                    *farthest, " mm, between most others ", usual, " mm");
    const auto missing = std::llround(*farthest / usual) - 1;
    if (missing >= 1) absl::StrAppend(&text, ": about ", missing, " missing");
    return text;
  }
  if (*nearest < 0.95 * usual) {
    return absl::StrCat("between ", between(nearest - distances.begin()), " are ", *nearest,
                        " mm, between most others ", usual, " mm");
  }
  for (size_t k = 0; k < distances.size(); ++k) {
    const double aside = Norm(slices[k + 1].position - slices[k].position - distances[k] * normal);
    if (aside > 0.01 * usual) {
      return absl::StrCat("between ", between(k), " they move ", aside,
                          " mm aside: the gantry was tilted");
    }
  }
  return absl::StrCat("neighbours are ", sorted.front(), " to ", sorted.back(), " mm apart");
}

/// Sorts the slices along their normal; the distance of neighbours.
absl::StatusOr<double> SortAlong(const Vec3& normal, std::vector<Slice>& slices) {
  std::sort(slices.begin(), slices.end(), [&](const Slice& a, const Slice& b) {
    return Dot(a.position, normal) < Dot(b.position, normal);
  });
  const double extent = Dot(slices.back().position, normal) - Dot(slices.front().position, normal);
  const double spacing = extent / (slices.size() - 1);
  const auto is_even = [&](size_t k) {
    const Vec3 expected = slices.front().position + (k * spacing) * normal;
    return Norm(slices[k].position - expected) <= 0.05 * spacing + std::min(1e-3, 0.05 * spacing);
  };
  for (size_t k = 0; k < slices.size(); ++k) {
    if (spacing > 0 && is_even(k)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "slices are not evenly spaced along their normal: ", UnevenNeighbours(normal, slices)));
  }
  return spacing;
}

}  // namespace

absl::Status LoadFirstCt(const std::filesystem::path& directory, DcmFileFormat& format) {
  ISO_ASSIGN_OR_RETURN(const auto files, FilesOf(directory));
  for (const std::filesystem::path& file : files) {
    format.clear();
    ISO_ASSIGN_OR_RETURN(const bool is_ct, LoadCt(file, format));
    if (is_ct) return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(directory.string(), " holds no DICOM CT slice"));
}

absl::StatusOr<Volume> ReadDicomSeries(const std::filesystem::path& directory) {
  ISO_ASSIGN_OR_RETURN(std::vector<Slice> slices, ReadSlices(directory));
  const Vec3 normal = Cross(slices.front().row_direction, slices.front().column_direction);
  ISO_ASSIGN_OR_RETURN(const double spacing, SortAlong(normal, slices));
  const Slice& lowest = slices.front();
  ISO_RETURN_IF_ERROR(
      CheckedVoxelCount(lowest.columns, lowest.rows, slices.size(), directory.string()).status());
  Volume volume;
  ISO_ASSIGN_OR_RETURN(const SeriesFacts facts, ReadSeriesFacts(directory));
  volume.facts = facts.volume;
  VolumeGrid& grid = volume.grid;
  grid = {.nx = lowest.columns, .ny = lowest.rows, .nz = int(slices.size())};
  grid.spacing = {lowest.column_spacing, lowest.row_spacing, spacing};
  grid.origin = lowest.position;
  const Vec3 axes[] = {lowest.row_direction, lowest.column_direction, normal};
  for (int a = 0; a < 3; ++a) {
    grid.direction[a] = axes[a].x;
    grid.direction[3 + a] = axes[a].y;
    grid.direction[6 + a] = axes[a].z;
  }
  volume.voxels.reserve(grid.voxels());
  for (const Slice& slice : slices) {
    volume.voxels.insert(volume.voxels.end(), slice.hounsfield.begin(), slice.hounsfield.end());
  }
  return WithRightHandedGrid(std::move(volume), directory.string());
}

absl::StatusOr<SeriesBeam> ReadSeriesBeam(const std::filesystem::path& directory) {
  DcmFileFormat format;
  ISO_RETURN_IF_ERROR(LoadFirstCt(directory, format));
  DcmDataset& data = *format.getDataset();
  const double kv = DicomNumber(data, DCM_KVP).value_or(0);
  return SeriesBeam{.station_name = DicomText(data, DCM_StationName),
                    .tube_voltage_kv = kv > 0 ? kv : 0,
                    .comments = DicomText(data, DCM_ImageComments)};
}

absl::StatusOr<std::string> SeriesFrameOfReference(const std::filesystem::path& directory) {
  DcmFileFormat format;
  ISO_RETURN_IF_ERROR(LoadFirstCt(directory, format));
  return DicomText(*format.getDataset(), DCM_FrameOfReferenceUID);
}

}  // namespace isocenter::formats
