#include "server/dicom/objects/xray3d_volume.h"

#include <dcmtk/config/osconfig.h>
#include <dcmtk/dcmdata/dctk.h>

#include <array>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/dicom/stored_job_fixture.h"

namespace isocenter::dicom {
namespace {

using ::testing::HasSubstr;

class Xray3dVolumeTest : public StoredJobTest {};

std::string String(DcmItem& item, const DcmTagKey& tag) {
  OFString value;
  item.findAndGetOFStringArray(tag, value);
  return value.c_str();
}

/// The first item of a sequence that is found anywhere below, or the item itself when there is
/// none, in which later lookups fail.
DcmItem& Item(DcmItem& item, const DcmTagKey& sequence, long number = 0) {
  DcmItem* found = nullptr;
  item.findAndGetSequenceItem(sequence, found, number);
  EXPECT_NE(found, nullptr) << DcmTag(sequence).getTagName();
  return found == nullptr ? item : *found;
}

unsigned long Items(DcmItem& item, const DcmTagKey& tag) {
  DcmSequenceOfItems* sequence = nullptr;
  item.findAndGetSequence(tag, sequence);
  return sequence == nullptr ? 0 : sequence->card();
}

std::vector<double> Numbers(DcmItem& item, const DcmTagKey& tag) {
  std::vector<double> numbers;
  Float64 number = 0;
  Float32 single = 0;
  for (unsigned long i = 0; item.findAndGetFloat64(tag, number, i).good(); ++i) {
    numbers.push_back(number);
  }
  for (unsigned long i = 0; numbers.size() == i && item.findAndGetFloat32(tag, single, i).good();
       ++i) {
    numbers.push_back(single);
  }
  return numbers;
}

/// Reads an object back as a viewer does: from its functional groups alone. Its first frame is
/// slice `first`.
void ExpectSameVolume(const std::filesystem::path& path, const jobs::Job& job,
                      const std::vector<float>& volume, const FrameRange& part) {
  const VolumeGrid& grid = job.grid;
  DcmFileFormat file;
  ASSERT_TRUE(file.loadFile(path.c_str()).good());
  DcmDataset& dataset = *file.getDataset();
  EXPECT_EQ(String(dataset, DCM_NumberOfFrames), absl::StrCat(part.count));
  ASSERT_EQ(Items(dataset, DCM_PerFrameFunctionalGroupsSequence),
            static_cast<unsigned long>(part.count));
  DcmItem& shared = Item(dataset, DCM_SharedFunctionalGroupsSequence);
  const auto spacing = Numbers(Item(shared, DCM_PixelMeasuresSequence), DCM_PixelSpacing);
  const auto orientation =
      Numbers(Item(shared, DCM_PlaneOrientationSequence), DCM_ImageOrientationPatient);
  DcmItem& transformation = Item(shared, DCM_PixelValueTransformationSequence);
  const double slope = Numbers(transformation, DCM_RescaleSlope).at(0);
  const double intercept = Numbers(transformation, DCM_RescaleIntercept).at(0);
  EXPECT_EQ(String(transformation, DCM_RescaleType), "HU");
  const Uint16* pixels = nullptr;
  unsigned long count = 0;
  ASSERT_TRUE(dataset.findAndGetUint16Array(DCM_PixelData, pixels, &count).good());
  const auto slice = static_cast<size_t>(grid.nx) * grid.ny;
  ASSERT_EQ(count, slice * part.count);
  for (int f = 0; f < part.count; ++f) {
    DcmItem& frame = Item(dataset, DCM_PerFrameFunctionalGroupsSequence, f);
    const auto position = Numbers(Item(frame, DCM_PlanePositionSequence), DCM_ImagePositionPatient);
    for (const auto [i, j] : {std::array{0, 0}, {grid.nx - 1, 0}, {0, grid.ny - 1}, {3, 2}}) {
      const Vec3 expected = grid.VoxelToWorld(i, j, part.first + f);
      const double world[] = {expected.x, expected.y, expected.z};
      for (int a = 0; a < 3; ++a) {
        // Sixteen characters hold coordinates below 1 m to 1e-10 mm.
        EXPECT_NEAR(position.at(a) + orientation.at(a) * spacing.at(1) * i +
                        orientation.at(3 + a) * spacing.at(0) * j,
                    world[a], 1e-8);
      }
    }
    for (size_t p = 0; p < slice; ++p) {
      // Rounding to whole HU: half a unit.
      ASSERT_NEAR(static_cast<int16_t>(pixels[f * slice + p]) * slope + intercept,
                  volume[(part.first + f) * slice + p], 0.5001);
    }
  }
}

void Tilt(VolumeGrid& grid) {
  const double a = 0.3, b = -0.7;
  grid.direction = {std::cos(a),
                    -std::sin(a) * std::cos(b),
                    std::sin(a) * std::sin(b),
                    std::sin(a),
                    std::cos(a) * std::cos(b),
                    -std::cos(a) * std::sin(b),
                    0,
                    std::sin(b),
                    std::cos(b)};
  grid.origin = {-101.5, 33.25, 7};
}

TEST_F(Xray3dVolumeTest, AnisotropicAndTiltedVolumesReadBack) {
  jobs::Job tilted = TestJobInBothForms("tilted", 7, 9, 4);
  Tilt(tilted.grid);
  for (const jobs::Job& job : {TestJobInBothForms("anisotropic"), tilted}) {
    Store(job);
    ExpectSameVolume(VolumeFile(job), job, TestVolume(job.grid), {0, job.grid.nz});
  }
}

TEST_F(Xray3dVolumeTest, OneFormAloneIsStored) {
  jobs::Job job = TestJob("alone");
  job.dicom_forms = {.ct_series = false, .xray_3d = true};
  EXPECT_EQ(Store(job).instance_count, 1);
  EXPECT_EQ(Files(job).size(), 1u);
  EXPECT_EQ(archive_->FindSeries({})->at(0).series.modality, "XA");
  job.dicom_forms = {.ct_series = false, .xray_3d = false};
  const auto none = store_->Store(job, View(TestVolume(job.grid), job.grid), nullptr, nullptr);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(Xray3dVolumeTest, BothFormsShareStudyAndFrameOfReference) {
  const jobs::Job job = TestJobInBothForms("both");
  const jobs::StoredSeries stored = Store(job);
  EXPECT_EQ(stored.instance_count, job.grid.nz + 1);
  EXPECT_EQ(store_->Find(job)->instance_count, stored.instance_count);
  EXPECT_EQ(store_->Find(job)->series_instance_uid, stored.series_instance_uid);
  const auto series = archive_->FindSeries({});
  ASSERT_TRUE(series.ok());
  ASSERT_EQ(series->size(), 2u);
  EXPECT_EQ((*series)[0].series.instance_uid, stored.series_instance_uid);
  EXPECT_EQ((*series)[0].series.modality, "CT");
  EXPECT_EQ((*series)[1].series.modality, "XA");
  EXPECT_EQ((*series)[0].series.number + 1, (*series)[1].series.number);
  EXPECT_EQ((*series)[0].series.frame_of_reference_uid, (*series)[1].series.frame_of_reference_uid);
  EXPECT_NE((*series)[0].series.instance_uid, (*series)[1].series.instance_uid);
  EXPECT_EQ(archive_->FindStudies({})->size(), 1u);
  EXPECT_TRUE(archive_->Delete(job.id).ok());
  EXPECT_TRUE(archive_->FindSeries({})->empty());
}

std::string Contents(const std::filesystem::path& path) {
  std::string contents(std::filesystem::file_size(path), '\0');
  FILE* const file = fopen(path.c_str(), "rb");
  EXPECT_EQ(fread(contents.data(), 1, contents.size(), file), contents.size());
  fclose(file);
  return contents;
}

TEST_F(Xray3dVolumeTest, RepeatedExportIsIdentical) {
  const jobs::Job job = TestJobInBothForms("again");
  Store(job);
  const std::string before = Contents(VolumeFile(job));
  Store(job);
  EXPECT_EQ(Contents(VolumeFile(job)), before);
  EXPECT_EQ(archive_->FindSeries({})->size(), 2u);
}

TEST_F(Xray3dVolumeTest, AttributesComeFromTheJob) {
  const jobs::Job job = TestJobInBothForms("attributes");
  Store(job);
  DcmFileFormat file;
  ASSERT_TRUE(file.loadFile(VolumeFile(job).c_str()).good());
  DcmDataset& dataset = *file.getDataset();
  EXPECT_EQ(dataset.getOriginalXfer(), EXS_LittleEndianExplicit);
  const std::map<DcmTagKey, std::string> expected = {
      {DCM_SpecificCharacterSet, "ISO_IR 192"},
      {DCM_PatientName, "Yamada^Tarou=山田^太郎=やまだ^たろう"},
      {DCM_AccessionNumber, "A1234"},
      {DCM_Modality, "XA"},
      {DCM_ImageType, "ORIGINAL\\PRIMARY\\VOLUME\\NONE"},
      {DCM_PerformingPhysicianName, "Weiß^Jürgen"},
      {DCM_InstitutionName, "General Hospital"},
      {DCM_BodyPartExamined, "HEAD"}};
  for (const auto& [tag, value] : expected) {
    EXPECT_EQ(String(dataset, tag), value) << DcmTag(tag).getTagName();
  }
  EXPECT_THAT(String(dataset, DCM_ImageComments), HasSubstr(std::string(64, 'a')));

  DcmItem& system = Item(dataset, DCM_ContributingEquipmentSequence);
  EXPECT_EQ(String(system, DCM_DeviceSerialNumber), "RW-0042");
  DcmItem& source = Item(dataset, DCM_ContributingSourcesSequence);
  EXPECT_EQ(String(source, DCM_ManufacturerModelName), "Rotor 7");
  EXPECT_EQ(Numbers(source, DCM_Columns), std::vector<double>{});  // it is no decimal string
  EXPECT_EQ(String(source, DCM_Columns), "1240");
  EXPECT_EQ(Numbers(source, DCM_ImagerPixelSpacing), (std::vector<double>{0.308, 0.308}));

  DcmItem& acquisition = Item(dataset, DCM_XRay3DAcquisitionSequence);
  EXPECT_FLOAT_EQ(Numbers(acquisition, DCM_PrimaryPositionerScanArc).at(0), 197.5);
  EXPECT_FLOAT_EQ(Numbers(acquisition, DCM_PrimaryPositionerScanStartAngle).at(0), -98.75);
  EXPECT_FLOAT_EQ(Numbers(acquisition, DCM_PrimaryPositionerIncrement).at(0), 0.8f);
  EXPECT_EQ(Numbers(acquisition, DCM_ExposureInmAs), std::vector<double>{480});
  EXPECT_EQ(Numbers(acquisition, DCM_KVP), std::vector<double>{90});

  DcmItem& reconstruction = Item(dataset, DCM_XRay3DReconstructionSequence);
  EXPECT_EQ(String(reconstruction, DCM_ApplicationName), "Isocenter");
  EXPECT_EQ(String(reconstruction, DCM_AlgorithmType), "FILTER_BACK_PROJ");
  EXPECT_EQ(String(reconstruction, DCM_AlgorithmDescription),
            "Feldkamp-Davis-Kress, filter shepp-logan 0.85");
  EXPECT_EQ(String(reconstruction, DCM_ReconstructionDescription), "protocol fdk");

  DcmItem& dose = Item(dataset, DCM_AcquisitionContextSequence);
  EXPECT_EQ(String(dose, DCM_NumericValue), "312.25");
  DcmItem& anatomy =
      Item(Item(dataset, DCM_SharedFunctionalGroupsSequence), DCM_FrameAnatomySequence);
  EXPECT_EQ(String(Item(anatomy, DCM_AnatomicRegionSequence), DCM_CodeValue), "69536005");
}

jobs::Job Refinement(const jobs::Job& source, const jobs::StoredSeries& stored) {
  jobs::Job job = TestJobInBothForms(source.id + "-ref");
  job.patient_study = source.patient_study;
  job.patient_study.study_instance_uid = stored.study_instance_uid;
  job.facts.filter_description = "";
  job.protocol = "fdk_then_pwls_tv";
  job.source_job_ids = {source.id};
  job.refinement = {.algorithm = "os_sqs",
                    .projector = "joseph",
                    .frame_of_reference_uid = stored.frame_of_reference_uid,
                    .iterations = {{1, 0.25, std::nullopt, 1.5}}};
  job.progress.iterations_done = job.progress.iterations_total = 1;
  return job;
}

/// Mask, fill and subtraction.
std::vector<jobs::Job> TestPair() {
  std::vector<jobs::Job> pair;
  for (const jobs::PairRole role :
       {jobs::PairRole::kMask, jobs::PairRole::kFill, jobs::PairRole::kSubtraction}) {
    jobs::Job job = TestJobInBothForms(absl::StrCat("pair-", jobs::Name(role)));
    job.patient_study.patient_id = "P1";
    job.pair_id = "pair-1";
    job.pair_role = role;
    if (role == jobs::PairRole::kSubtraction) job.source_job_ids = {pair[0].id, pair[1].id};
    pair.push_back(std::move(job));
  }
  return pair;
}

TEST_F(Xray3dVolumeTest, ARefinementRefersToTheVolumeThatItRefines) {
  const jobs::Job source = TestJobInBothForms("source");
  const jobs::Job job = Refinement(source, Store(source));
  Store(job);
  DcmFileFormat file, refined;
  ASSERT_TRUE(file.loadFile(VolumeFile(job).c_str()).good());
  ASSERT_TRUE(refined.loadFile(VolumeFile(source).c_str()).good());
  DcmDataset& dataset = *file.getDataset();
  DcmItem& shared = Item(dataset, DCM_SharedFunctionalGroupsSequence);
  EXPECT_EQ(String(Item(shared, DCM_ReferencedImageSequence), DCM_ReferencedSOPInstanceUID),
            String(*refined.getDataset(), DCM_SOPInstanceUID));
  EXPECT_EQ(String(Item(dataset, DCM_ReferencedSeriesSequence), DCM_SeriesInstanceUID),
            String(*refined.getDataset(), DCM_SeriesInstanceUID));
  for (const DcmTagKey& tag : {DCM_StudyInstanceUID, DCM_FrameOfReferenceUID}) {
    EXPECT_EQ(String(dataset, tag), String(*refined.getDataset(), tag));
  }
  EXPECT_EQ(String(Item(dataset, DCM_XRay3DReconstructionSequence), DCM_AlgorithmType),
            "ITERATIVE");
}

TEST_F(Xray3dVolumeTest, APhaseOfAHeartIsInTheSynchronizationGroup) {
  const jobs::Job source = TestJobInBothForms("source");
  jobs::Job job = Refinement(source, Store(source));
  job.refinement.algorithm = "fdk";
  job.refinement.iterations.clear();
  job.progress.iterations_done = job.progress.iterations_total = 0;
  job.facts.phase_cycle = jobs::PhaseCycle::kCardiac;
  job.refinement.phase = {.phase = 0.25, .width = 0.2, .frames = 61, .cycle_seconds = 0.8};
  Store(job);
  DcmFileFormat file;
  ASSERT_TRUE(file.loadFile(VolumeFile(job).c_str()).good());
  DcmItem& group = Item(Item(*file.getDataset(), DCM_SharedFunctionalGroupsSequence),
                        DCM_CardiacSynchronizationSequence);
  Float32 percent = 0;
  Float64 delay = 0, interval = 0;
  EXPECT_TRUE(group.findAndGetFloat32(DCM_NominalPercentageOfCardiacPhase, percent).good());
  EXPECT_TRUE(group.findAndGetFloat64(DCM_NominalCardiacTriggerDelayTime, delay).good());
  EXPECT_TRUE(group.findAndGetFloat64(DCM_RRIntervalTimeNominal, interval).good());
  EXPECT_EQ(percent, 25);
  EXPECT_NEAR(delay, 200, 1e-9);
  EXPECT_NEAR(interval, 800, 1e-9);
  EXPECT_EQ(Validate(VolumeFile(job)), Validate(VolumeFile(source)));

  // Without a time the group would not be legal, and without a cycle it would claim a heart.
  for (const auto cycle : {jobs::PhaseCycle::kCardiac, jobs::PhaseCycle::kUnknown}) {
    jobs::Job other = job;
    other.id = absl::StrCat("other-", jobs::Name(cycle));
    other.facts.phase_cycle = cycle;
    if (cycle == jobs::PhaseCycle::kCardiac) other.refinement.phase->cycle_seconds = 0;
    Store(other);
    DcmFileFormat without;
    ASSERT_TRUE(without.loadFile(VolumeFile(other).c_str()).good());
    DcmItem& shared = Item(*without.getDataset(), DCM_SharedFunctionalGroupsSequence);
    EXPECT_FALSE(shared.tagExists(DCM_CardiacSynchronizationSequence));
    EXPECT_FALSE(shared.tagExists(DCM_RespiratorySynchronizationSequence));
  }
}

TEST_F(Xray3dVolumeTest, ASecondPassIsDerivedFromTheFirstVolume) {
  const jobs::Job source = TestJobInBothForms("source");
  jobs::Job job = Refinement(source, Store(source));
  job.refinement.algorithm = "second_pass_metal";
  job.refinement.second_pass = {.metal = true, .cone_beam = true};
  job.refinement.iterations.clear();
  job.progress.iterations_done = job.progress.iterations_total = 0;
  Store(job);
  DcmFileFormat file, first;
  ASSERT_TRUE(file.loadFile(VolumeFile(job).c_str()).good());
  ASSERT_TRUE(first.loadFile(VolumeFile(source).c_str()).good());
  DcmDataset& dataset = *file.getDataset();
  EXPECT_EQ(String(dataset, DCM_ImageType), "DERIVED\\PRIMARY\\VOLUME\\NONE");
  DcmItem& shared = Item(dataset, DCM_SharedFunctionalGroupsSequence);
  DcmItem& derivation = Item(shared, DCM_DerivationImageSequence);
  EXPECT_EQ(String(derivation, DCM_DerivationDescription),
            "second reconstruction: metal interpolated in the projections (NMAR) and put back; "
            "cone-beam artefact of bone and air subtracted");
  EXPECT_EQ(String(Item(derivation, DCM_SourceImageSequence), DCM_ReferencedSOPInstanceUID),
            String(*first.getDataset(), DCM_SOPInstanceUID));
  EXPECT_FALSE(shared.tagExists(DCM_ReferencedImageSequence));
  DcmItem& reconstruction = Item(dataset, DCM_XRay3DReconstructionSequence);
  EXPECT_EQ(String(reconstruction, DCM_AlgorithmType), "FILTER_BACK_PROJ");
  EXPECT_EQ(String(reconstruction, DCM_AlgorithmDescription),
            "Feldkamp-Davis-Kress again, metal by NMAR, cone-beam artefact");
  EXPECT_EQ(Validate(VolumeFile(job)), absl::StrCat(Validate(VolumeFile(source)), kPrivateScheme));
}

TEST_F(Xray3dVolumeTest, ASubtractionNamesBothVolumes) {
  const std::vector<jobs::Job> pair = TestPair();
  for (const jobs::Job& job : pair) Store(job);
  DcmFileFormat file;
  ASSERT_TRUE(file.loadFile(VolumeFile(pair[2]).c_str()).good());
  DcmDataset& dataset = *file.getDataset();
  EXPECT_EQ(String(dataset, DCM_ImageType), "DERIVED\\PRIMARY\\VOLUME\\NONE");
  DcmItem& derivation =
      Item(Item(dataset, DCM_SharedFunctionalGroupsSequence), DCM_DerivationImageSequence);
  ASSERT_EQ(Items(derivation, DCM_SourceImageSequence), 2u);
  EXPECT_EQ(Items(dataset, DCM_ContributingSourcesSequence), 2u);
  EXPECT_EQ(Items(dataset, DCM_ReferencedSeriesSequence), 2u);
  for (int i = 0; i < 2; ++i) {
    DcmFileFormat source;
    ASSERT_TRUE(source.loadFile(VolumeFile(pair[i]).c_str()).good());
    EXPECT_EQ(String(Item(derivation, DCM_SourceImageSequence, i), DCM_ReferencedSOPInstanceUID),
              String(*source.getDataset(), DCM_SOPInstanceUID));
  }
}

TEST_F(Xray3dVolumeTest, SourcesInTheOtherFormAreNamedToo) {
  std::vector<jobs::Job> pair = TestPair();
  pair[0].dicom_forms.xray_3d = false;    // the mask as slices only
  pair[1].dicom_forms.ct_series = false;  // the fill as a volume only
  for (const jobs::Job& job : pair) Store(job);
  DcmFileFormat volume, slice;
  ASSERT_TRUE(volume.loadFile(VolumeFile(pair[2]).c_str()).good());
  DcmItem& derivation = Item(Item(*volume.getDataset(), DCM_SharedFunctionalGroupsSequence),
                             DCM_DerivationImageSequence);
  EXPECT_EQ(Items(derivation, DCM_SourceImageSequence),
            static_cast<unsigned long>(pair[0].grid.nz) + 1);
  ASSERT_TRUE(slice.loadFile(Files(pair[2])[3].c_str()).good());
  DcmItem& frame = Item(*slice.getDataset(), DCM_SourceImageSequence, 1);
  EXPECT_EQ(String(frame, DCM_ReferencedSOPClassUID), UID_XRay3DAngiographicImageStorage);
  EXPECT_EQ(String(frame, DCM_ReferencedFrameNumber), "4");
}

TEST_F(Xray3dVolumeTest, ValidatorFindsNothing) {
  jobs::Job tilted = TestJobInBothForms("tilted", 7, 9, 4);
  Tilt(tilted.grid);
  jobs::Job sparse;  // nothing but what every job has, and what dciodvfy warns of elsewhere
  sparse.id = "sparse";
  sparse.patient_study.patient_id = "P";
  sparse.facts.body_part_examined = "HEAD";
  sparse.facts.acquisition_seconds = 1;
  sparse.grid = CenteredGrid(8, 8, 3, {1, 1, 1});
  sparse.create_time = tilted.create_time;
  sparse.dicom_forms = tilted.dicom_forms;
  const jobs::Job source = TestJobInBothForms("source");
  std::vector<jobs::Job> all = {tilted, sparse, source, Refinement(source, Store(source))};
  for (const jobs::Job& job : TestPair()) all.push_back(job);
  for (const jobs::Job& job : all) {
    Store(job);
    EXPECT_EQ(Validate(VolumeFile(job)), "XRay3DAngiographicImage\n") << job.id;
    EXPECT_EQ(Validate(Files(job)[0]), "CTImage\n") << job.id;
  }
}

TEST_F(Xray3dVolumeTest, VolumesThatAreTooLargeAreConcatenations) {
  const jobs::Job job = TestJobInBothForms("parts", 6, 4, 7);
  const auto volume = TestVolume(job.grid);
  const auto made = Xray3dVolume::Create(job, {}, 2, /*most_pixel_bytes=*/6 * 4 * 2 * 3);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->parts().size(), 3u);
  int next = 0;
  std::set<std::string> uids, concatenations;
  for (int i = 0; i < 3; ++i) {
    const FrameRange& part = made->parts()[i];
    EXPECT_EQ(part.first, next);
    EXPECT_LE(part.count, 3);
    next += part.count;
    const auto header = made->FileHeader(i);
    ASSERT_TRUE(header.ok()) << header.status();
    const auto path = directory_.path() / absl::StrCat("part", i, ".dcm");
    FILE* const file = fopen(path.c_str(), "wb");
    fwrite(header->data(), 1, header->size(), file);
    for (int64_t v = int64_t{24} * part.first; v < int64_t{24} * next; ++v) {
      const auto stored = static_cast<int16_t>(std::lround(volume[v]));
      fwrite(&stored, sizeof stored, 1, file);
    }
    fclose(file);
    ExpectSameVolume(path, job, volume, part);
    EXPECT_EQ(Validate(path), "XRay3DAngiographicImage\n");
    DcmFileFormat loaded;
    ASSERT_TRUE(loaded.loadFile(path.c_str()).good());
    DcmDataset& dataset = *loaded.getDataset();
    EXPECT_EQ(String(dataset, DCM_InConcatenationNumber), absl::StrCat(i + 1));
    EXPECT_EQ(String(dataset, DCM_InConcatenationTotalNumber), "3");
    EXPECT_EQ(String(dataset, DCM_ConcatenationFrameOffsetNumber), absl::StrCat(part.first));
    uids.insert(String(dataset, DCM_SOPInstanceUID));
    concatenations.insert(String(dataset, DCM_ConcatenationUID));
  }
  EXPECT_EQ(next, job.grid.nz);
  EXPECT_EQ(uids.size(), 3u);
  EXPECT_EQ(concatenations.size(), 1u);
  EXPECT_EQ(Xray3dVolume::Create(job, {}, 2, 6 * 4 * 2 - 2).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PartsOf, CoverAllFrames) {
  EXPECT_EQ(PartsOf(512, 512 * 512 * 2, kMostPixelBytes).size(), 1u);
  const auto parts = PartsOf(1024, 1024 * 1024 * 2, kMostPixelBytes);  // 2 GiB
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].count, 512);
  EXPECT_EQ(parts[1].first, 512);
}

}  // namespace
}  // namespace isocenter::dicom
