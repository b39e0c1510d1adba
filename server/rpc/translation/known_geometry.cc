#include "server/rpc/translation/known_geometry.h"

#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "proto/wire/geometry.h"
#include "proto/wire/mistakes.h"
#include "server/rpc/acquisition_stream.h"
#include "server/rpc/translation/field_checks.h"
#include "server/rpc/translation/translate_header.h"

namespace isocenter::rpc {
namespace {

using jobs::CalibrationLabel;

std::string Day(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

std::vector<std::string> Misfits(const CalibrationLabel& label, const v1::AcquisitionHeader& header,
                                 const Detector& detector, absl::Time now) {
  std::vector<std::string> misfits;
  if (label.withdrawn) misfits.push_back("has been withdrawn");
  if (label.geometry_frames == 0) misfits.push_back("has no matrices");
  if (label.station_name != header.station_name()) {
    misfits.push_back(absl::StrFormat("is of station '%s', and the acquisition of '%s'",
                                      label.station_name, header.station_name()));
  }
  if (label.detector_mode != header.detector_mode()) {
    misfits.push_back(absl::StrFormat("is of detector mode '%s', and the acquisition of '%s'",
                                      label.detector_mode, header.detector_mode()));
  }
  if (!(label.detector == detector)) {
    misfits.push_back(
        absl::StrFormat("is of %dx%d pixels of %gx%g mm, and the acquisition of %dx%d of %gx%g mm",
                        label.detector.columns, label.detector.rows, label.detector.pitch_u_mm,
                        label.detector.pitch_v_mm, detector.columns, detector.rows,
                        detector.pitch_u_mm, detector.pitch_v_mm));
  }
  if (label.geometry_frames > 0 &&
      static_cast<uint32_t>(label.geometry_frames) != header.frame_count()) {
    misfits.push_back(absl::StrFormat("is of %d frames, and the acquisition of %d",
                                      label.geometry_frames, header.frame_count()));
  }
  if (!(label.valid_from <= now && now < label.valid_until)) {
    misfits.push_back(absl::StrFormat("is valid from %s to %s, which is not now",
                                      Day(label.valid_from), Day(label.valid_until)));
  }
  return misfits;
}

struct Candidate {
  CalibrationLabel label;
  std::vector<std::string> misfits;
  auto rank() const {
    return std::tuple(-static_cast<int>(misfits.size()), label.created, label.name);
  }
};

absl::Status NoneFits(const std::optional<Candidate>& best, const v1::AcquisitionHeader& header) {
  const bool named = !header.geometry().empty();
  const std::string wanted = named ? absl::StrCat("geometry is '", header.geometry(), "', and ")
                                   : "the header has no trajectory, and ";
  if (best) {
    return absl::FailedPreconditionError(absl::StrCat(wanted, "the set '", best->label.name,
                                                      "' does not fit: it ",
                                                      absl::StrJoin(best->misfits, "; it ")));
  }
  if (named)
    return absl::FailedPreconditionError(absl::StrCat(
        wanted, "no set of that name is kept; `isocenter calibrations list` shows them"));
  return Illegal("trajectory", "unset",
                 absl::StrCat("matrices, circular, or a station with a set that has matrices; '",
                              header.station_name(), "' has none"));
}

absl::StatusOr<CalibrationLabel> Choose(const v1::AcquisitionHeader& header,
                                        const std::vector<CalibrationLabel>& kept, absl::Time now) {
  ISO_ASSIGN_OR_RETURN(const Detector detector, wire::DetectorFromProto(header.detector()));
  std::optional<Candidate> best;
  for (const CalibrationLabel& label : kept) {
    const bool asked = header.geometry().empty() ? label.geometry_frames > 0 && !label.withdrawn &&
                                                       label.station_name == header.station_name()
                                                 : label.name == header.geometry();
    if (!asked) continue;
    Candidate candidate{label, Misfits(label, header, detector, now)};
    if (!best || candidate.rank() > best->rank()) best = std::move(candidate);
  }
  if (!best || !best->misfits.empty()) return NoneFits(best, header);
  return best->label;
}

/// The circle is what the console plans; that the arm turns the same way and as far is all that the
/// two have in common: where their x axes point may differ.
absl::Status CheckArc(const v1::AcquisitionHeader& header, const Trajectory& trajectory) {
  if (!header.has_circular()) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(const std::vector<double> angles, SourceAngles(trajectory));
  const double arc_deg = RadiansToDegrees(angles.back() - angles.front());
  if (std::abs(arc_deg - header.circular().arc_deg()) <= kMostArcDifferenceDeg) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrFormat(
      "circular.arc_deg is %g, and the set '%s' is of an arc of %.1f degrees; legal is a "
      "difference of at most %g",
      header.circular().arc_deg(), header.geometry(), arc_deg, kMostArcDifferenceDeg));
}

}  // namespace

bool LeavesGeometry(const v1::AcquisitionHeader& header) {
  return !header.geometry().empty() || (!header.has_matrices() && !header.has_circular());
}

v1::AcquisitionHeader WithSomeGeometry(v1::AcquisitionHeader header) {
  header.mutable_circular()->set_source_to_isocenter_mm(100);
  header.mutable_circular()->set_source_to_detector_mm(200);
  header.mutable_circular()->set_arc_deg(360);
  return header;
}

absl::StatusOr<KnownGeometry> FindGeometry(v1::AcquisitionHeader header, calibrations::Store* store,
                                           absl::Time now) {
  for (const auto& [field, text] : {std::pair("geometry", &header.geometry()),
                                    std::pair("station_name", &header.station_name()),
                                    std::pair("detector_mode", &header.detector_mode())}) {
    ISO_RETURN_IF_ERROR(CheckIdentifier(field, *text));
  }
  if (header.has_matrices()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "geometry is '", header.geometry(), "', and matrices are listed; legal is one of them"));
  }
  while (true) {
    std::vector<CalibrationLabel> kept;
    if (store != nullptr) kept = store->Labels();
    ISO_ASSIGN_OR_RETURN(const CalibrationLabel label, Choose(header, kept, now));
    const jobs::UsedCalibration used{
        .name = label.name, .crc32c = label.crc32c, .created = label.created};
    const absl::StatusOr<Trajectory> trajectory = store->LoadGeometry(used);
    // One that is damaged is not among the others any more.
    if (absl::IsDataLoss(trajectory.status())) continue;
    if (!trajectory.ok()) return trajectory.status();
    ISO_RETURN_IF_ERROR(CheckArc(header, *trajectory));
    header.clear_circular();
    for (const ProjectionMatrix& matrix : *trajectory) {
      *header.mutable_matrices()->add_matrix() = wire::ToProto(matrix);
    }
    header.set_geometry(label.name);
    return KnownGeometry{std::move(header), used};
  }
}

absl::StatusOr<pipeline::AcquisitionRequest> TranslateNew(const v1::AcquisitionHeader& header,
                                                          const AcquisitionContext& shared) {
  if (!LeavesGeometry(header)) {
    return TranslateHeader(header, shared.protocols, shared.max_message_bytes);
  }
  const absl::StatusOr<KnownGeometry> known =
      FindGeometry(header, shared.calibrations, shared.clock());
  if (!known.ok()) {
    wire::Mistakes mistakes;  // what else is wrong does not hang on which set was meant
    mistakes.Add(
        TranslateHeader(WithSomeGeometry(header), shared.protocols, shared.max_message_bytes)
            .status());
    mistakes.Add(known.status());
    return mistakes.AsStatus();
  }
  ISO_ASSIGN_OR_RETURN(pipeline::AcquisitionRequest request,
                       TranslateHeader(known->header, shared.protocols, shared.max_message_bytes));
  request.geometry = known->used;
  request.record = AddGeometry(request.record, known->used);
  return request;
}

}  // namespace isocenter::rpc
