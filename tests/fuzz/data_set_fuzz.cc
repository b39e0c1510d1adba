// Data sets: what the scanner lets through, DCMTK nests no deeper than it may. The first byte
// chooses the VR and the size of pieces, the rest is the data set.
#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dcistrmb.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/oflog/oflog.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "proto/dicom/data_set_scanner.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

namespace {

constexpr dicom::DataSetLimits kLimits = {.depth = 16, .elements = 16384, .bytes = 1 << 20};

absl::Status Scan(std::span<const std::byte> bytes, const dicom::DataSetEncoding& encoding,
                  size_t piece) {
  dicom::DataSetScanner scanner(encoding, kLimits);
  while (!bytes.empty()) {
    const auto next = bytes.first(std::min(piece, bytes.size()));
    if (absl::Status taken = scanner.Take(next); !taken.ok()) return taken;
    bytes = bytes.subspan(next.size());
  }
  return scanner.End();
}

/// Of sequences in each other.
int Depth(DcmItem& item) {
  int deepest = 0;
  for (unsigned long i = 0; i < item.card(); ++i) {
    auto* const sequence = dynamic_cast<DcmSequenceOfItems*>(item.getElement(i));
    if (sequence == nullptr) continue;
    deepest = std::max(deepest, 1);
    for (unsigned long j = 0; j < sequence->card(); ++j) {
      deepest = std::max(deepest, 1 + Depth(*sequence->getItem(j)));
    }
  }
  return deepest;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool configured = (OFLog::configure(OFLogger::OFF_LOG_LEVEL), true);
  (void)configured;
  if (size < 1) return 0;
  const uint8_t choice = *data++;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), --size);
  const dicom::DataSetEncoding encoding{.implicit_vr = (choice & 1) != 0};
  const absl::Status scanned = Scan(bytes, encoding, bytes.size() + 1);
  fuzz::Require(Scan(bytes, encoding, size_t{choice} / 2 + 1) == scanned, "pieces do not matter");
  if (!scanned.ok()) return 0;
  DcmInputBufferStream stream;
  stream.setBuffer(data, static_cast<offile_off_t>(size));
  stream.setEos();
  DcmDataset data_set;
  data_set.transferInit();
  (void)data_set.read(stream,
                      encoding.implicit_vr ? EXS_LittleEndianImplicit : EXS_LittleEndianExplicit);
  data_set.transferEnd();
  fuzz::Require(Depth(data_set) <= kLimits.depth, "DCMTK understands what the scanner does");
  return 0;
}
