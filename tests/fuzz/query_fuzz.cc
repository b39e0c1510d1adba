// Identifiers of queries: the first byte chooses transfer syntax and model, the rest is the data
// set as it comes over the network.
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcistrmb.h>
#include <dcmtk/dcmdata/dctk.h>

#include <cstddef>
#include <cstdint>

#include "server/dicom/net/library.h"
#include "server/dicom/scp/identifier.h"
#include "server/dicom/scp/query.h"
#include "tests/fuzz/archive.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool configured = (dicom::ConfigureLibrary(), true);
  (void)configured;
  if (size < 1) return 0;
  const uint8_t choice = *data++;
  --size;
  DcmInputBufferStream stream;
  stream.setBuffer(data, static_cast<offile_off_t>(size));
  stream.setEos();
  DcmDataset identifier;
  identifier.transferInit();
  const OFCondition read =
      identifier.read(stream, choice & 1 ? EXS_LittleEndianImplicit : EXS_LittleEndianExplicit);
  identifier.transferEnd();
  if (read.bad()) return 0;
  const absl::StatusOr<dicom::Query> query =
      dicom::Query::Parse(choice & 2 ? dicom::QueryRoot::kStudy : dicom::QueryRoot::kPatient,
                          dicom::KeysOf(identifier));
  if (!query.ok()) return 0;
  archive::OwnCatalog catalog(fuzz::TestArchive());
  archive::Gap gap;
  (void)query->ForEachMatch(
      catalog, "FUZZ", [](const dicom::KeyValues&) { return true; }, gap);
  dicom::Subjects subjects;
  (void)query->Instances(catalog, subjects, gap);
  return 0;
}
