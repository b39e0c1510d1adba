#include "server/dicom/net/transcode.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcrleerg.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmjpls/djencode.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace isocenter::dicom {
namespace {

constexpr std::array kSupported = {EXS_LittleEndianExplicit, EXS_LittleEndianImplicit,
                                   EXS_RLELossless, EXS_JPEGLSLossless};

/// DCMTK's list of encoders is global. They are never taken out of it again: other threads may be
/// using them when the program ends.
void RegisterEncoders() {
  static const bool registered = [] {
    DcmRLEEncoderRegistration::registerCodecs();
    DJLSEncoderRegistration::registerCodecs();
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
  const OFCondition chosen = dataset.chooseRepresentation(syntax, nullptr);
  if (chosen.bad() || !dataset.canWriteXfer(syntax)) {
    return absl::InternalError(
        absl::StrCat("cannot encode ", path.string(), " in transfer syntax ", transfer_syntax_uid,
                     ": ", chosen.bad() ? chosen.text() : "it has no such representation"));
  }
  return file;
}

}  // namespace isocenter::dicom
