#include "server/dicom/net/transcode.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcfcache.h>
#include <dcmtk/dcmdata/dcpixel.h>
#include <dcmtk/dcmdata/dcpixseq.h>
#include <dcmtk/dcmdata/dcpxitem.h>
#include <dcmtk/dcmdata/dcrleerg.h>
#include <dcmtk/dcmdata/dctk.h>

#include <algorithm>
#include <array>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/dicom/net/jpeg_ls.h"

namespace isocenter::dicom {
namespace {

constexpr std::array kSupported = {EXS_LittleEndianExplicit, EXS_LittleEndianImplicit,
                                   EXS_RLELossless, EXS_JPEGLSLossless};

/// DCMTK's list of encoders is global. They are never taken out of it again: other threads may be
/// using them when the program ends.
void RegisterEncoders() {
  static const bool registered = [] {
    DcmRLEEncoderRegistration::registerCodecs();
    return true;
  }();
  (void)registered;
}

absl::Status Unsupported(absl::string_view uid) {
  return absl::InvalidArgumentError(absl::StrCat(
      "transfer syntax is '", uid, "'; legal are ", UID_LittleEndianExplicitTransferSyntax, ", ",
      UID_LittleEndianImplicitTransferSyntax, ", ", UID_RLELosslessTransferSyntax, ", ",
      UID_JPEGLSLosslessTransferSyntax));
}

absl::Status Checked(const OFCondition& condition) {
  return condition.good() ? absl::OkStatus() : absl::InternalError(condition.text());
}

/// Its pixels as JPEG-LS, one fragment a frame. DCMTK's own encoder writes behind its buffer where
/// a frame does not get smaller.
absl::Status CompressByJpegLs(DcmDataset& dataset) {
  Uint16 rows = 0, columns = 0, bits = 0, samples = 0;
  Sint32 frames = 0;  // not given: one
  (void)dataset.findAndGetUint16(DCM_Rows, rows);
  (void)dataset.findAndGetUint16(DCM_Columns, columns);
  (void)dataset.findAndGetUint16(DCM_BitsAllocated, bits);
  (void)dataset.findAndGetUint16(DCM_SamplesPerPixel, samples);
  (void)dataset.findAndGetSint32(DCM_NumberOfFrames, frames);
  DcmElement* element = nullptr;
  (void)dataset.findAndGetElement(DCM_PixelData, element);
  auto* const pixels = dynamic_cast<DcmPixelData*>(element);
  if (pixels == nullptr || bits != 16 || samples != 1) {
    return absl::InternalError("it has no pixels of 16 bits");
  }
  auto* const table = new DcmPixelItem(DcmTag(DCM_Item, EVR_OB));
  auto sequence = std::make_unique<DcmPixelSequence>(DcmTag(DCM_PixelData, EVR_OB));
  ISO_RETURN_IF_ERROR(Checked(sequence->insert(table)));
  std::vector<uint16_t> frame(size_t{rows} * columns);
  const auto frame_bytes = static_cast<Uint32>(frame.size() * sizeof(uint16_t));
  DcmOffsetList offsets;
  DcmFileCache cache;
  for (Uint32 i = 0; i < static_cast<Uint32>(std::max(1, frames)); ++i) {
    ISO_RETURN_IF_ERROR(
        Checked(pixels->getPartialValue(frame.data(), i * frame_bytes, frame_bytes, &cache)));
    ISO_ASSIGN_OR_RETURN(std::vector<uint8_t> encoded, EncodeJpegLs(frame, columns, rows));
    ISO_RETURN_IF_ERROR(Checked(sequence->storeCompressedFrame(
        offsets, encoded.data(), static_cast<Uint32>(encoded.size()), /*fragmentSize=*/0)));
  }
  ISO_RETURN_IF_ERROR(Checked(table->createOffsetTable(offsets)));
  pixels->putOriginalRepresentation(EXS_JPEGLSLossless, nullptr, sequence.release());
  return absl::OkStatus();
}

}  // namespace

const char* TransferSyntaxUid(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return UID_LittleEndianExplicitTransferSyntax;
    case Compression::kRleLossless:
      return UID_RLELosslessTransferSyntax;
    case Compression::kJpegLsLossless:
      return UID_JPEGLSLosslessTransferSyntax;
  }
  return UID_LittleEndianExplicitTransferSyntax;
}

bool IsSupportedTransferSyntax(absl::string_view transfer_syntax_uid) {
  return std::ranges::any_of(kSupported, [&](E_TransferSyntax syntax) {
    return transfer_syntax_uid == DcmXfer(syntax).getXferID();
  });
}

absl::StatusOr<std::unique_ptr<DcmFileFormat>> LoadAs(const std::filesystem::path& path,
                                                      absl::string_view transfer_syntax_uid) {
  if (!IsSupportedTransferSyntax(transfer_syntax_uid)) return Unsupported(transfer_syntax_uid);
  RegisterEncoders();
  auto file = std::make_unique<DcmFileFormat>();
  if (const OFCondition loaded = file->loadFile(path.c_str()); loaded.bad()) {
    std::error_code error;
    const std::string message = absl::StrCat("cannot read ", path.string(), ": ", loaded.text());
    return std::filesystem::exists(path, error) ? absl::DataLossError(message)
                                                : absl::NotFoundError(message);
  }
  const E_TransferSyntax syntax = DcmXfer(std::string(transfer_syntax_uid).c_str()).getXfer();
  DcmDataset& dataset = *file->getDataset();
  absl::Status encoded;
  if (syntax == EXS_JPEGLSLossless) encoded = CompressByJpegLs(dataset);
  if (encoded.ok()) encoded = Checked(dataset.chooseRepresentation(syntax, nullptr));
  if (encoded.ok() && !dataset.canWriteXfer(syntax)) {
    encoded = absl::InternalError("it has no such representation");
  }
  if (!encoded.ok()) {
    return absl::InternalError(absl::StrCat("cannot encode ", path.string(), " in transfer syntax ",
                                            transfer_syntax_uid, ": ", encoded.message()));
  }
  return file;
}

}  // namespace isocenter::dicom
