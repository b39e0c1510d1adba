#include "server/rpc/translation/translate_header.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "isocenter/v1/spool.pb.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/acquisition.h"
#include "proto/wire/geometry.h"
#include "proto/wire/header_numbers.h"
#include "proto/wire/header_texts.h"
#include "proto/wire/mistakes.h"
#include "proto/wire/plausible.h"
#include "server/jobs/job.h"
#include "server/jobs/private_error.h"
#include "server/rpc/translation/field_checks.h"
#include "server/rpc/translation/known_geometry.h"
#include "server/rpc/translation/translate.h"
#include "server/rpc/translation/translate_refinement.h"
#include "server/rpc/translation/wire_enum.h"

namespace isocenter::rpc {
namespace {

jobs::PatientStudy PatientStudyOf(const v1::PatientStudy& study) {
  return {.patient_name = study.patient_name(),
          .patient_id = study.patient_id(),
          .patient_birth_date = study.patient_birth_date(),
          .patient_sex = study.patient_sex(),
          .study_instance_uid = study.study_instance_uid(),
          .accession_number = study.accession_number(),
          .study_id = study.study_id(),
          .study_description = study.study_description(),
          .referring_physician_name = study.referring_physician_name(),
          .study_date = study.study_date(),
          .study_time = study.study_time()};
}

/// OK where the header says nothing legal of its frames, which is refused elsewhere.
absl::Status CheckMessageBytes(const v1::AcquisitionHeader& header, int64_t max_message_bytes) {
  const absl::StatusOr<int64_t> frame_bytes = wire::CheckedFrameBytes(header);
  if (!frame_bytes.ok()) return absl::OkStatus();
  const int64_t message_bytes = *frame_bytes + kFrameOverheadBytes;
  if (message_bytes <= max_message_bytes) return absl::OkStatus();
  return Illegal("detector",
                 absl::StrCat(header.detector().columns(), "x", header.detector().rows(),
                              ", whose frames need messages of ", message_bytes, " bytes"),
                 absl::StrCat("messages of at most ", max_message_bytes, " bytes"));
}

absl::StatusOr<jobs::PhaseCycle> PhaseCycleOf(int number) {
  if (const auto cycle = FromWire<v1::PhaseCycle, jobs::PhaseCycle>(number)) return *cycle;
  return Illegal("phase_cycle", absl::StrCat(number), "a PhaseCycle of this version");
}

absl::StatusOr<jobs::PairRole> PairRoleOf(const v1::AcquisitionPair& pair) {
  ISO_RETURN_IF_ERROR(CheckIdentifier("pair.pair_id", pair.pair_id()));
  if (pair.pair_id().empty()) {
    return Illegal("pair.pair_id", "\"\"", "1 to 64 characters of [A-Za-z0-9_.-]");
  }
  switch (pair.role()) {
    case v1::PAIR_ROLE_MASK:
      return jobs::PairRole::kMask;
    case v1::PAIR_ROLE_FILL:
      return jobs::PairRole::kFill;
    default:
      return Illegal("pair.role", absl::StrCat(static_cast<int>(pair.role())),
                     "PAIR_ROLE_MASK or PAIR_ROLE_FILL");
  }
}

jobs::Equipment EquipmentOf(const v1::Equipment& equipment) {
  return {.manufacturer = equipment.manufacturer(),
          .model_name = equipment.model_name(),
          .device_serial_number = equipment.device_serial_number(),
          .software_versions = equipment.software_versions(),
          .institution_name = equipment.institution_name(),
          .institutional_department_name = equipment.institutional_department_name()};
}

absl::Status CheckContinuedJob(const std::string& job_id) {
  if (job_id.empty()) return absl::OkStatus();
  const absl::Status legal = jobs::CheckJobId(job_id);
  if (legal.ok()) return legal;
  return absl::InvalidArgumentError(absl::StrCat("continues_job_id: ", legal.message()));
}

/// All but what the kernels are told of. `is_new`: else it was accepted before, perhaps by a
/// version that took more.
absl::Status CheckHeader(const v1::AcquisitionHeader& header, bool is_new) {
  wire::Mistakes mistakes;
  mistakes.Add(jobs::MarkPrivate(wire::CheckPrivateTexts(header)));
  mistakes.Add(wire::CheckOtherTexts(header));
  mistakes.Add(CheckContinuedJob(header.continues_job_id()));
  if (!header.patient_position().empty()) {
    mistakes.Add(ParsePatientPosition(header.patient_position()).status());
  }
  mistakes.Add(is_new ? wire::CheckTubeVoltage("tube_voltage_kv", header.tube_voltage_kv())
                      : wire::CheckUpTo("tube_voltage_kv", header.tube_voltage_kv(),
                                        wire::kMostTubeVoltage));
  mistakes.Add(wire::CheckHeaderNumbers(header));
  if (is_new) mistakes.Add(wire::CheckArcUnit(header));
  mistakes.Add(JobClassFromProto(header.job_class()).status());
  mistakes.Add(PhaseCycleOf(header.phase_cycle()).status());
  if (header.has_pair()) mistakes.Add(PairRoleOf(header.pair()).status());
  return mistakes.AsStatus();
}

/// Of the grid that the protocol has fixed.
void AddDoubts(const config::Protocol& protocol, pipeline::AcquisitionRequest& request) {
  constexpr char kField[] = "the protocol's grid.fixed";
  if (auto corner = wire::CornerAtIsocenter(kField, protocol.description.grid().fixed())) {
    request.implausible.push_back(*std::move(corner));
  }
  const recon::Acquisition& acquisition = request.acquisition;
  for (std::string& doubt : wire::ImplausibleGrid(kField, *protocol.fixed_grid,
                                                  acquisition.trajectory, acquisition.detector)) {
    request.implausible.push_back(std::move(doubt));
  }
}

/// `max_message_bytes`: unset for an acquisition that was accepted before, whatever is legal now.
absl::StatusOr<pipeline::AcquisitionRequest> Translate(const v1::AcquisitionHeader& header,
                                                       const config::Protocol& protocol,
                                                       std::optional<int64_t> max_message_bytes) {
  absl::StatusOr<recon::Acquisition> acquisition = wire::AcquisitionFromProto(header);
  absl::StatusOr<VolumeGrid> grid;
  if (header.has_grid()) grid = wire::GridFromProto(header.grid());
  wire::Mistakes mistakes;
  mistakes.Add(CheckHeader(header, max_message_bytes.has_value()));
  if (max_message_bytes) mistakes.Add(CheckMessageBytes(header, *max_message_bytes));
  mistakes.Add(acquisition.status());
  if (header.has_grid()) mistakes.Add(grid.status());
  ISO_RETURN_IF_ERROR(mistakes.AsStatus());
  PatientPosition patient_position = PatientPosition::kHfs;
  if (!header.patient_position().empty()) {
    ISO_ASSIGN_OR_RETURN(patient_position, ParsePatientPosition(header.patient_position()));
  }

  pipeline::AcquisitionRequest request{
      .patient_study = PatientStudyOf(header.patient_study()),
      .tube_voltage_kv = header.tube_voltage_kv(),
      .tube_current_ma = header.exposure().tube_current_ma(),
      .exposure_mas = header.exposure().exposure_mas(),
      .dose_area_product_dgycm2 = header.exposure().dose_area_product_dgycm2(),
      .body_part_examined = header.body_part_examined(),
      .series_description = header.series_description(),
      .patient_position = patient_position,
      .laterality = header.laterality(),
      .performing_physician_name = header.performing_physician_name(),
      .operators_name = header.operators_name(),
      .equipment = EquipmentOf(header.equipment()),
      .protocol = protocol.description.name(),
      .station_name = header.station_name(),
      .request_id = header.request_id(),
      .continues_job_id = header.continues_job_id(),
      .frame_rate_hz = header.frame_rate_hz(),
      .detector_mode = header.detector_mode(),
      .calibration_policy = protocol.calibration_policy,
      .calibration_name = header.calibration(),
      .settings = protocol.settings,
      .missing_frames = protocol.missing_frames,
      .dicom_forms = protocol.dicom_forms,
      .refinement = RefinementOf(protocol),
  };
  if (header.deadline_seconds() > 0) request.deadline = absl::Seconds(header.deadline_seconds());
  ISO_ASSIGN_OR_RETURN(request.job_class, JobClassFromProto(header.job_class()));
  ISO_ASSIGN_OR_RETURN(request.phase_cycle, PhaseCycleOf(header.phase_cycle()));
  if (header.has_pair()) {
    ISO_ASSIGN_OR_RETURN(request.pair_role, PairRoleOf(header.pair()));
    request.pair_id = header.pair().pair_id();
  }
  request.acquisition = *std::move(acquisition);
  if (max_message_bytes) {
    request.implausible =
        wire::ImplausibleFields(header, request.acquisition.trajectory, absl::Now());
  }
  if (header.has_grid()) {
    request.grid = *grid;
    request.names_grid = true;
  } else if (protocol.fixed_grid) {
    request.grid = *protocol.fixed_grid;
    if (max_message_bytes) AddDoubts(protocol, request);
  } else {
    request.grid = pipeline::AutoGridSize{protocol.auto_grid_size};
  }
  return request;
}

}  // namespace

absl::StatusOr<pipeline::AcquisitionRequest> TranslateHeader(const v1::AcquisitionHeader& header,
                                                             const config::ProtocolBook& protocols,
                                                             int64_t max_message_bytes) {
  const absl::StatusOr<const config::Protocol*> found = protocols.Find(header.protocol());
  const config::Protocol unknown;  // the rest of the header is looked at all the same
  const config::Protocol* const protocol = found.ok() ? *found : &unknown;
  absl::StatusOr<pipeline::AcquisitionRequest> translated =
      Translate(header, *protocol, max_message_bytes);
  wire::Mistakes mistakes;
  mistakes.Add(found.status());
  mistakes.Add(translated.status());
  ISO_RETURN_IF_ERROR(mistakes.AsStatus());
  pipeline::AcquisitionRequest request = *std::move(translated);
  v1::SpooledAcquisition record;
  *record.mutable_header() = header;
  *record.mutable_protocol() = protocol->description;
  request.record = record.SerializeAsString();
  return request;
}

absl::StatusOr<pipeline::AcquisitionRequest> TranslateRepeated(
    const v1::AcquisitionHeader& header) {
  config::Protocol only_named;
  only_named.description.set_name(header.protocol());
  if (!LeavesGeometry(header)) return Translate(header, only_named, std::nullopt);
  ISO_ASSIGN_OR_RETURN(pipeline::AcquisitionRequest request,
                       Translate(WithSomeGeometry(header), only_named, std::nullopt));
  request.geometry = jobs::UsedCalibration{.name = header.geometry()};
  return request;
}

absl::StatusOr<pipeline::AcquisitionRequest> TranslateRecord(const std::string& record) {
  v1::SpooledAcquisition spooled;
  if (!spooled.ParseFromString(record)) {
    return absl::DataLossError(
        absl::StrCat("the spooled acquisition of ", record.size(), " bytes cannot be read"));
  }
  ISO_ASSIGN_OR_RETURN(const config::Protocol protocol,
                       config::ProtocolFromProto(spooled.protocol()));
  ISO_ASSIGN_OR_RETURN(pipeline::AcquisitionRequest request,
                       Translate(spooled.header(), protocol, std::nullopt));
  if (spooled.has_calibration()) request.calibration = CalibrationFromProto(spooled.calibration());
  if (spooled.has_geometry()) request.geometry = CalibrationFromProto(spooled.geometry());
  request.record = record;
  return request;
}

std::string AddCalibration(const std::string& record, const jobs::UsedCalibration& calibration) {
  v1::SpooledAcquisition added;
  *added.mutable_calibration() = ToProto(calibration);
  return record + added.SerializeAsString();  // which is how protobuf merges messages
}

std::string AddGeometry(const std::string& record, const jobs::UsedCalibration& geometry) {
  v1::SpooledAcquisition added;
  *added.mutable_geometry() = ToProto(geometry);
  return record + added.SerializeAsString();
}

}  // namespace isocenter::rpc
