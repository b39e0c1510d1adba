#include "client/formats/dicom/xa_run.h"

#include <dcmtk/config/osconfig.h>
//
#include <dcmtk/dcmdata/dccodec.h>
#include <dcmtk/dcmdata/dcfcache.h>
#include <dcmtk/dcmdata/dcpixel.h>
#include <dcmtk/dcmdata/dcpixseq.h>
#include <dcmtk/dcmdata/dcpxitem.h>
#include <dcmtk/dcmdata/dcrledrg.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmjpeg/djdecode.h>
#include <dcmtk/dcmjpls/djdecode.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/formats/dicom/dictionary.h"
#include "client/formats/dicom/file_bounds.h"
#include "client/formats/dicom/xa_attributes.h"
#include "client/formats/dicom/xa_geometry.h"
#include "client/formats/dicom/xa_identity.h"
#include "client/formats/dicom/xa_intensity.h"
#include "client/formats/other_matrices.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/acquisition.h"
#include "proto/wire/geometry.h"

namespace isocenter::formats {
namespace {

void RegisterDecoders() {
  static const bool once = [] {
    DcmRLEDecoderRegistration::registerCodecs();
    DJDecoderRegistration::registerCodecs();
    DJLSDecoderRegistration::registerCodecs();
    return true;
  }();
  static_cast<void>(once);
}

/// Segments of a frame that lie in it, one after the other (PS3.5 G.5). DCMTK 3.6.7 follows their
/// offsets wherever they lead.
absl::Status CheckRleSegments(DcmPixelItem& frame, DcmFileCache& cache) {
  std::array<Uint32, 16> header{};  // how many, and where each begins
  if (frame.getPartialValue(header.data(), 0, sizeof header, &cache).bad() || header[0] < 1 ||
      header[0] >= header.size()) {
    return absl::DataLossError(absl::StrCat("an RLE frame of ", frame.getLength(), " bytes has ",
                                            header[0], " segments; legal is 1 to 15"));
  }
  Uint32 least = sizeof header;
  for (Uint32 i = 1; i <= header[0]; least = header[i++]) {
    if (header[i] >= least && header[i] <= frame.getLength()) continue;
    return absl::DataLossError(absl::StrCat("segment ", i, " begins at byte ", header[i],
                                            "; legal is ", least, " to ", frame.getLength()));
  }
  return absl::OkStatus();
}

class XaSource : public FrameSource {
 public:
  XaSource(std::string name, std::unique_ptr<DcmFileFormat> file, v1::AcquisitionHeader header,
           XaIntensity intensity, std::vector<std::string> notes, std::vector<std::string> warnings)
      : name_(std::move(name)),
        file_(std::move(file)),
        header_(std::move(header)),
        intensity_(std::move(intensity)),
        notes_(std::move(notes)),
        warnings_(std::move(warnings)) {
    DcmElement* element = nullptr;
    file_->getDataset()->findAndGetElement(DCM_PixelData, element);
    pixel_data_ = OFstatic_cast(DcmPixelData*, element);  // checked by OpenXaRun
  }

  const v1::AcquisitionHeader& header() const override { return header_; }
  int64_t frame_bytes() const override { return pixels() * sizeof(uint16_t); }
  std::vector<std::string> notes() const override { return notes_; }
  std::vector<std::string> warnings() const override { return warnings_; }

  absl::Status Read(int64_t index, std::span<std::byte> out) override {
    if (absl::Status decoded = Decode(index); !decoded.ok()) {
      next_index_ = -1;
      return absl::DataLossError(
          absl::StrCat(name_, ": frame ", index, " cannot be decoded: ", decoded.message()));
    }
    next_index_ = index + 1;
    for (int64_t i = 0; i < pixels(); ++i) {
      uint16_t value = std::to_integer<uint16_t>(stored_[i]);
      if (intensity_.bits_allocated == 16) std::memcpy(&value, &stored_[2 * i], sizeof value);
      std::memcpy(&out[2 * i], &intensity_.counts[value], sizeof value);
    }
    return absl::OkStatus();
  }

 private:
  int64_t pixels() const {
    return int64_t{header_.detector().columns()} * header_.detector().rows();
  }

  /// Fills `stored_`.
  absl::Status Decode(int64_t index) {
    ISO_RETURN_IF_ERROR(CheckRle(index));
    stored_.resize((pixels() * intensity_.bits_allocated / 8 + 1) / 2 * 2);
    // Where a frame's fragments begin is known only after the one before; 0 lets DCMTK search.
    if (index != next_index_) next_fragment_ = 0;
    const Uint32 first_fragment = next_fragment_;
    OFString color_model;
    const OFCondition read = pixel_data_->getUncompressedFrame(
        file_->getDataset(), static_cast<Uint32>(index), next_fragment_, stored_.data(),
        static_cast<Uint32>(stored_.size()), color_model, &cache_);
    ForgetFragments(first_fragment);
    return read.good() ? absl::OkStatus() : absl::DataLossError(read.text());
  }

  absl::Status CheckRle(int64_t index) {
    if (file_->getDataset()->getOriginalXfer() != EXS_RLELossless) return absl::OkStatus();
    DcmPixelSequence* const fragments = Fragments();
    const int64_t frames = header_.frame_count();
    const int64_t count = fragments == nullptr ? 0 : int64_t(fragments->card()) - 1;
    DcmPixelItem* frame = nullptr;
    if (count != frames || fragments->getItem(frame, static_cast<Uint32>(index) + 1).bad()) {
      return absl::DataLossError(absl::StrCat("the run has ", count, " fragments of RLE data for ",
                                              frames, " frames; legal is one each"));
    }
    return CheckRleSegments(*frame, cache_);
  }

  /// Of encapsulated frames, the offset table first; else nullptr.
  DcmPixelSequence* Fragments() {
    E_TransferSyntax syntax;
    const DcmRepresentationParameter* parameter = nullptr;
    DcmPixelSequence* fragments = nullptr;
    pixel_data_->getOriginalRepresentationKey(syntax, parameter);
    if (!DcmXfer(syntax).isEncapsulated() ||
        pixel_data_->getEncapsulatedRepresentation(syntax, parameter, fragments).bad()) {
      return nullptr;
    }
    return fragments;
  }

  /// DCMTK's JPEG-LS decoder keeps every compressed fragment that it has read.
  void ForgetFragments(Uint32 first) {
    DcmPixelSequence* const fragments = Fragments();
    if (fragments == nullptr) return;
    DcmPixelItem* item = nullptr;
    for (Uint32 i = std::max<Uint32>(first, 1);
         i < next_fragment_ && fragments->getItem(item, i).good(); ++i) {
      item->compact();
    }
  }

  std::string name_;
  std::unique_ptr<DcmFileFormat> file_;
  v1::AcquisitionHeader header_;
  XaIntensity intensity_;
  std::vector<std::string> notes_, warnings_;
  DcmPixelData* pixel_data_ = nullptr;
  DcmFileCache cache_;
  std::vector<std::byte> stored_;
  int64_t next_index_ = 0;
  Uint32 next_fragment_ = 0;
};

absl::StatusOr<Trajectory> Matrices(const std::filesystem::path& path, int frames,
                                    std::vector<std::string>& notes) {
  ISO_ASSIGN_OR_RETURN(Trajectory trajectory, ReadTrajectoryCsv(path.string()));
  if (static_cast<int>(trajectory.size()) != frames) {
    return absl::InvalidArgumentError(absl::StrCat(path.string(), " has ", trajectory.size(),
                                                   " matrices, but the run has ", frames,
                                                   " frames; legal is one matrix per frame"));
  }
  notes.push_back(absl::StrCat("the geometry is that of ", path.string(),
                               "; the volume is in the patient's axes as far as its matrices are"));
  return trajectory;
}

/// What measured matrices contradict the run's own angles in, where it tells them.
std::vector<std::string> DoubtsOf(const XaAttributes& run, const Detector& detector,
                                  const Trajectory& measured, const std::filesystem::path& path) {
  std::vector<std::string> unused;
  const absl::StatusOr<Trajectory> own = XaTrajectory(run, detector, unused);
  if (!own.ok()) return {};
  return OtherMatricesDoubts(*own, measured, path.string());
}

absl::StatusOr<std::unique_ptr<FrameSource>> Open(const std::filesystem::path& path,
                                                  const std::filesystem::path& matrices,
                                                  std::optional<double> i0_counts) {
  if (const absl::Status bounded = CheckDicomFile(path); !bounded.ok()) {
    return absl::Status(bounded.code(), absl::StrCat(path.string(), ": ", bounded.message()));
  }
  auto file = std::make_unique<DcmFileFormat>();
  if (const OFCondition loaded = file->loadFile(path.c_str()); loaded.bad()) {
    return absl::InvalidArgumentError(absl::StrCat("not a DICOM file: ", loaded.text()));
  }
  DcmDataset& data = *file->getDataset();
  ISO_ASSIGN_OR_RETURN(const XaAttributes run, XaAttributes::Of(data));
  DcmElement* pixels = nullptr;
  if (data.findAndGetElement(DCM_PixelData, pixels).bad() ||
      dynamic_cast<DcmPixelData*>(pixels) == nullptr) {
    return absl::InvalidArgumentError("Pixel Data are missing");
  }
  const DcmXfer syntax(data.getOriginalXfer());
  if (syntax.isEncapsulated() &&
      !DcmCodecList::canChangeCoding(syntax.getXfer(), EXS_LittleEndianExplicit)) {
    return absl::InvalidArgumentError(
        absl::StrCat("transfer syntax is ", syntax.getXferName(),
                     "; legal is uncompressed, RLE, JPEG or JPEG-LS: decompress it with gdcmconv"));
  }
  std::vector<std::string> notes;
  ISO_ASSIGN_OR_RETURN(const Detector detector, XaDetector(run));
  ISO_ASSIGN_OR_RETURN(XaIntensity intensity, ReadXaIntensity(run));
  ISO_ASSIGN_OR_RETURN(const Trajectory trajectory, matrices.empty()
                                                        ? XaTrajectory(run, detector, notes)
                                                        : Matrices(matrices, run.frames(), notes));
  std::vector<std::string> warnings;
  if (!matrices.empty()) warnings = DoubtsOf(run, detector, trajectory, matrices);
  v1::AcquisitionHeader header;
  CopyXaIdentity(run, header, notes);
  *header.mutable_detector() = wire::ToProto(detector);
  header.set_pixel_type(v1::PIXEL_TYPE_UINT16_COUNTS);
  header.set_i0_counts(i0_counts.value_or(intensity.largest));
  header.set_frame_count(static_cast<uint32_t>(run.frames()));
  for (const ProjectionMatrix& matrix : trajectory) {
    *header.mutable_matrices()->add_matrix() = wire::ToProto(matrix);
  }
  ISO_ASSIGN_OR_RETURN(const PatientPosition position, XaPatientPosition(run));
  header.set_patient_position(std::string(Name(position)));
  if (!i0_counts) {
    notes.push_back(absl::StrCat("an unattenuated pixel is taken to have ", intensity.largest,
                                 " counts, the most that the file can hold; --i0 sets it"));
  }
  if (const auto rate = XaFrameRate(run)) {
    notes.push_back(absl::StrFormat("the run was exposed at %.4g frames per second", *rate));
  }
  if (DicomText(data, DCM_LossyImageCompression) == "01") {
    notes.emplace_back("the frames were compressed with loss");
  }
  ISO_RETURN_IF_ERROR(wire::CheckedFrameBytes(header).status());
  return std::make_unique<XaSource>(path.string(), std::move(file), std::move(header),
                                    std::move(intensity), std::move(notes), std::move(warnings));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FrameSource>> OpenXaRun(const std::filesystem::path& path,
                                                       const std::filesystem::path& matrices,
                                                       std::optional<double> i0_counts) {
  ISO_RETURN_IF_ERROR(CheckDicomDictionary());
  RegisterDecoders();
  auto source = Open(path, matrices, i0_counts);
  if (source.ok() || !absl::IsInvalidArgument(source.status())) return source;
  return absl::InvalidArgumentError(absl::StrCat(path.string(), ": ", source.status().message()));
}

}  // namespace isocenter::formats
