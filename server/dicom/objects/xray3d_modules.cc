#include "server/dicom/objects/xray3d_modules.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/dicom/objects/anatomy.h"
#include "server/dicom/objects/common_modules.h"
#include "server/dicom/objects/derivation.h"
#include "server/dicom/objects/text.h"
#include "server/dicom/objects/uids.h"

namespace isocenter::dicom {
namespace {

constexpr char kApplication[] = "Isocenter";

/// Value 2 stays PRIMARY: no other is legal for this object.
const char* ImageType(const jobs::Job& job) {
  return IsDerived(job) ? "DERIVED\\PRIMARY\\VOLUME\\NONE" : "ORIGINAL\\PRIMARY\\VOLUME\\NONE";
}

void PutDescription(Attributes& put) {
  put(DCM_PixelPresentation, "MONOCHROME");
  put(DCM_VolumetricProperties, "VOLUME");
  put(DCM_VolumeBasedCalculationTechnique, "NONE");
}

/// In this machine's time zone, as all dates of the object are.
std::string DateTime(absl::Time time) {
  return absl::FormatTime("%Y%m%d%H%M%S", time, absl::LocalTimeZone());
}

/// When the first frame came.
absl::Time StartOf(const jobs::Job& job) {
  return job.create_time == absl::InfinitePast() ? absl::Now() : job.create_time;
}

/// Every object that is named, under its series and study (PS3.3, C.17.2.1): what an archive needs
/// to fetch it.
void PutEvidence(const jobs::Job& job, const DcmTagKey& sequence,
                 const std::vector<SourceSeries>& sources, Attributes& put) {
  if (sources.empty()) return;
  Attributes study = put.Item(sequence);
  study(DCM_StudyInstanceUID, StudyInstanceUid(job));
  for (const SourceSeries& source : sources) {
    Attributes series = study.Item(DCM_ReferencedSeriesSequence);
    series(DCM_SeriesInstanceUID, source.series_instance_uid);
    for (const ImageReference& reference : AllOf(source)) {
      Attributes instance = series.Item(DCM_ReferencedSOPSequence);
      PutReference(reference, instance);
    }
  }
}

void PutImageOfSource(int rows, int columns, int bits, Attributes& put) {
  put.Unsigned(DCM_Rows, rows);
  put.Unsigned(DCM_Columns, columns);
  put.Unsigned(DCM_BitsStored, bits);
  put(DCM_LossyImageCompression, "00");
}

void PutScan(const jobs::PositionerScan& scan, const DcmTagKey& arc, const DcmTagKey& start,
             const DcmTagKey& increment, Attributes& put) {
  put.Float(start, scan.start_deg);
  if (scan.arc_deg > 0) put.Float(arc, scan.arc_deg);
  if (scan.increment_deg && *scan.increment_deg != 0) put.Float(increment, *scan.increment_deg);
}

std::string AlgorithmDescription(const jobs::Job& job) {
  if (IsSubtraction(job)) return "fill minus mask";
  if (const auto& second = job.refinement.second_pass) {
    return absl::StrCat("Feldkamp-Davis-Kress again", second->scatter ? ", scatter by a model" : "",
                        second->metal ? ", metal by NMAR" : "",
                        second->bone ? ", bone hardening" : "",
                        second->cone_beam ? ", cone-beam artefact" : "",
                        second->motion ? ", motion of the object" : "",
                        second->self_calibrate ? ", self-calibration" : "",
                        second->complete_rows ? ", completed rows" : "");
  }
  if (Iterates(job)) {
    return absl::StrCat(job.refinement.algorithm, ", projector ", job.refinement.projector, ", ",
                        job.progress.iterations_done, " iterations");
  }
  return absl::StrCat("Feldkamp-Davis-Kress",
                      job.facts.filter_description.empty() ? "" : ", filter ",
                      job.facts.filter_description);
}

void PutAnatomy(const jobs::Job& job, Attributes& put) {
  Attributes anatomy = put.Item(DCM_FrameAnatomySequence);
  const std::string laterality = CodeString(job.facts.laterality);
  anatomy(DCM_FrameLaterality, laterality.empty() ? "U" : laterality);
  const AnatomicRegion region = RegionOf(CodeString(job.facts.body_part_examined));
  anatomy.Code(DCM_AnatomicRegionSequence, region.code, "SCT", region.meaning);
}

/// Of the same phase all frames are. The standard wants a time, too, which is known where that of
/// the acquisition is; whose phase it is nobody guesses.
void PutPhase(const jobs::Job& job, Attributes& put) {
  const auto& phase = job.refinement.phase;
  if (!phase || !(phase->cycle_seconds > 0)) return;
  const double cycle_ms = 1000 * phase->cycle_seconds;
  if (job.facts.phase_cycle == jobs::PhaseCycle::kCardiac) {
    Attributes item = put.Item(DCM_CardiacSynchronizationSequence);
    item.Float(DCM_NominalPercentageOfCardiacPhase, 100 * phase->phase);
    item.Double(DCM_NominalCardiacTriggerDelayTime, phase->phase * cycle_ms);
    item.Double(DCM_RRIntervalTimeNominal, cycle_ms);
  } else if (job.facts.phase_cycle == jobs::PhaseCycle::kRespiratory) {
    Attributes item = put.Item(DCM_RespiratorySynchronizationSequence);
    item.Float(DCM_NominalPercentageOfRespiratoryPhase, 100 * phase->phase);
    item.Double(DCM_NominalRespiratoryTriggerDelayTime, phase->phase * cycle_ms);
    item.Double(DCM_RespiratoryIntervalTime, cycle_ms);
  }
}

void PutFrameType(const jobs::Job& job, Attributes& put) {
  Attributes type = put.Item(DCM_XRay3DFrameTypeSequence);
  type(DCM_FrameType, ImageType(job));
  PutDescription(type);
  type.Unsigned(DCM_ReconstructionIndex, 1);
}

/// What a subtraction was made of, or what a refinement refines.
void PutSources(const jobs::Job& job, const std::vector<SourceSeries>& sources, Attributes& put) {
  if (sources.empty()) return;
  if (!IsDerived(job)) {
    for (const SourceSeries& source : sources) {
      for (const ImageReference& reference : AllOf(source)) {
        Attributes other = put.Item(DCM_ReferencedImageSequence);
        PutReference(reference, other);
        other.Code(DCM_PurposeOfReferenceCodeSequence, "121338", "DCM", "Anatomic image");
      }
    }
    return;
  }
  Attributes derivation = put.Item(DCM_DerivationImageSequence);
  PutDerivation(job, derivation);
  for (const SourceSeries& source : sources) {
    for (const ImageReference& reference : AllOf(source)) {
      Attributes other = derivation.Item(DCM_SourceImageSequence);
      PutReference(reference, other);
      PutIsSource(other);
    }
  }
}

}  // namespace

void PutXray3dImage(const jobs::Job& job, Attributes& put) {
  put(DCM_ImageType, ImageType(job));
  PutDescription(put);
  put(DCM_ContentQualification, "PRODUCT");
  put(DCM_BurnedInAnnotation, "NO");
  put(DCM_LossyImageCompression, "00");
  put(DCM_PresentationLUTShape, "IDENTITY");
}

void PutContributingSources(const jobs::Job& job, const archive::Series& series,
                            const std::vector<SourceSeries>& sources, Attributes& put) {
  const jobs::AcquisitionFacts& facts = job.facts;
  const jobs::Equipment& system = facts.equipment;
  if (IsSubtraction(job)) {
    for (const SourceSeries& source : sources) {
      Attributes item = put.Item(DCM_ContributingSourcesSequence);
      Attributes study = item.Item(DCM_ContributingSOPInstancesReferenceSequence);
      study(DCM_StudyInstanceUID, StudyInstanceUid(job));
      Attributes its_series = study.Item(DCM_ReferencedSeriesSequence);
      its_series(DCM_SeriesInstanceUID, source.series_instance_uid);
      its_series(DCM_SeriesNumber, "");
      for (const ImageReference& reference : AllOf(source)) {
        Attributes instance = its_series.Item(DCM_ReferencedInstanceSequence);
        PutReference(reference, instance);
        instance(DCM_InstanceNumber, "");
      }
      item(DCM_Manufacturer, series.manufacturer);
      PutImageOfSource(job.grid.ny, job.grid.nx, 16, item);
    }
    return;
  }
  if (facts.detector_rows <= 0 || facts.detector_columns <= 0) return;
  Attributes item = put.Item(DCM_ContributingSourcesSequence);
  item(DCM_Manufacturer, Text(system.manufacturer, 64));
  item.IfGiven(DCM_ManufacturerModelName, Text(system.model_name, 64));
  item.IfGiven(DCM_DeviceSerialNumber, Text(system.device_serial_number, 64));
  item.IfGiven(DCM_SoftwareVersions, Text(system.software_versions, 64));
  item(DCM_AcquisitionDateTime, DateTime(StartOf(job)));
  item.IfGiven(DCM_StationName, series.station_name);
  item.IfGiven(DCM_OperatorsName, PersonName(facts.operators_name));
  PutImageOfSource(facts.detector_rows, facts.detector_columns, facts.detector_bits, item);
  if (facts.detector_row_spacing_mm > 0 && facts.detector_column_spacing_mm > 0) {
    item(DCM_ImagerPixelSpacing, absl::StrCat(DecimalString(facts.detector_row_spacing_mm), "\\",
                                              DecimalString(facts.detector_column_spacing_mm)));
  }
}

void PutXray3dAcquisition(const jobs::Job& job, Attributes& put) {
  const jobs::AcquisitionFacts& facts = job.facts;
  Attributes item = put.Item(DCM_XRay3DAcquisitionSequence);
  item(DCM_DetectorType, "");  // the console does not say
  if (facts.tube_voltage_kv > 0) item(DCM_KVP, facts.tube_voltage_kv);
  if (facts.tube_current_ma > 0) item.Double(DCM_XRayTubeCurrentInmA, facts.tube_current_ma);
  if (facts.exposure_mas > 0) item.Double(DCM_ExposureInmAs, facts.exposure_mas);
  item(DCM_StartAcquisitionDateTime, DateTime(StartOf(job)));
  if (facts.source_to_detector_mm > 0) {
    item(DCM_DistanceSourceToDetector, facts.source_to_detector_mm);
  }
  if (facts.source_to_isocenter_mm > 0) {
    item(DCM_DistanceSourceToPatient, facts.source_to_isocenter_mm);
  }
  if (facts.primary_scan) {
    PutScan(*facts.primary_scan, DCM_PrimaryPositionerScanArc, DCM_PrimaryPositionerScanStartAngle,
            DCM_PrimaryPositionerIncrement, item);
  }
  if (facts.secondary_scan) {
    PutScan(*facts.secondary_scan, DCM_SecondaryPositionerScanArc,
            DCM_SecondaryPositionerScanStartAngle, DCM_SecondaryPositionerIncrement, item);
  }
}

void PutXray3dReconstruction(const jobs::Job& job, Attributes& put) {
  Attributes item = put.Item(DCM_XRay3DReconstructionSequence);
  item.IfGiven(DCM_ReconstructionDescription, Text(absl::StrCat("protocol ", job.protocol), 64));
  item(DCM_ApplicationName, kApplication);
  item(DCM_ApplicationVersion, ISOCENTER_VERSION);
  item(DCM_ApplicationManufacturer, kApplication);
  item(DCM_AlgorithmType, Iterates(job) ? "ITERATIVE" : "FILTER_BACK_PROJ");
  item(DCM_AlgorithmDescription, Text(AlgorithmDescription(job), 64));
  item.Unsigned(DCM_AcquisitionIndex, 1);
}

void PutAcquisitionContext(const jobs::Job& job, Attributes& put) {
  const double product = job.facts.dose_area_product_dgycm2;
  if (!(product > 0)) return put.EmptySequence(DCM_AcquisitionContextSequence);
  Attributes item = put.Item(DCM_AcquisitionContextSequence);
  item(DCM_ValueType, "NUMERIC");
  item.Code(DCM_ConceptNameCodeSequence, "122130", "DCM", "Dose Area Product");
  item(DCM_NumericValue, product);
  item.Code(DCM_MeasurementUnitsCodeSequence, "dGy.cm2", "UCUM", "dGy.cm2");
}

void PutReferencedSeries(const std::vector<SourceSeries>& sources, Attributes& put) {
  for (const SourceSeries& source : sources) {
    Attributes series = put.Item(DCM_ReferencedSeriesSequence);
    series(DCM_SeriesInstanceUID, source.series_instance_uid);
    for (const ImageReference& reference : AllOf(source)) {
      Attributes instance = series.Item(DCM_ReferencedInstanceSequence);
      PutReference(reference, instance);
    }
  }
}

void PutDimensions(const jobs::Job& job, Attributes& put) {
  const std::string organization = MakeUid(UidRole::kDimensionOrganization, job.id);
  put.Item(DCM_DimensionOrganizationSequence)(DCM_DimensionOrganizationUID, organization);
  put(DCM_DimensionOrganizationType, "3D");
  // A tag's value is written as its two numbers.
  const auto index = [&](const char* attribute, const char* label) {
    Attributes item = put.Item(DCM_DimensionIndexSequence);
    item(DCM_DimensionOrganizationUID, organization);
    item(DCM_DimensionIndexPointer, attribute);
    item(DCM_FunctionalGroupPointer, "(0020,9111)");  // Frame Content Sequence
    item(DCM_DimensionDescriptionLabel, label);
  };
  index("(0020,9056)", "Stack ID");
  index("(0020,9057)", "In-Stack Position Number");
}

void PutSharedGroups(const jobs::Job& job, const std::vector<SourceSeries>& sources,
                     Attributes& put) {
  Attributes shared = put.Item(DCM_SharedFunctionalGroupsSequence);
  Attributes measures = shared.Item(DCM_PixelMeasuresSequence);
  measures(DCM_SliceThickness, job.grid.spacing.z);
  measures(DCM_SpacingBetweenSlices, job.grid.spacing.z);
  measures(DCM_PixelSpacing, PixelSpacing(job.grid));
  shared.Item(DCM_PlaneOrientationSequence)(DCM_ImageOrientationPatient,
                                            ImageOrientation(PatientGridOf(job)));
  PutAnatomy(job, shared);
  PutPhase(job, shared);
  Attributes transformation = shared.Item(DCM_PixelValueTransformationSequence);
  transformation(DCM_RescaleIntercept, "0");
  transformation(DCM_RescaleSlope, "1");
  transformation(DCM_RescaleType, "HU");
  Attributes window = shared.Item(DCM_FrameVOILUTSequence);
  window(DCM_WindowCenter, kWindowCenter);
  window(DCM_WindowWidth, kWindowWidth);
  PutFrameType(job, shared);
  PutSources(job, sources, shared);
  if (!IsDerived(job)) {
    PutEvidence(job, DCM_ReferencedImageEvidenceSequence, sources, put);
  }
}

void PutFrameGroups(const jobs::Job& job, const FrameRange& part, Attributes& put) {
  const VolumeGrid grid = PatientGridOf(job);
  // Every slice was seen by all frames.
  const absl::Duration duration = absl::Seconds(job.facts.acquisition_seconds);
  const std::string start = DateTime(StartOf(job)), middle = DateTime(StartOf(job) + duration / 2);
  for (int k = part.first; k < part.first + part.count; ++k) {
    Attributes frame = put.Item(DCM_PerFrameFunctionalGroupsSequence);
    Attributes content = frame.Item(DCM_FrameContentSequence);
    content(DCM_StackID, "1");
    const auto position = static_cast<uint32_t>(k + 1);
    content.UnsignedLong(DCM_InStackPositionNumber, {position});
    if (!IsSubtraction(job)) {
      content(DCM_FrameReferenceDateTime, middle);
      content(DCM_FrameAcquisitionDateTime, start);
      content.Double(DCM_FrameAcquisitionDuration, absl::ToDoubleMilliseconds(duration));
    }
    content.UnsignedLong(DCM_DimensionIndexValues, {1, position});
    frame.Item(DCM_PlanePositionSequence)(DCM_ImagePositionPatient, ImagePosition(grid, k));
  }
}

}  // namespace isocenter::dicom
