// What series say of those that they were made of: pairs, subtractions, refinements, second passes,
// phases.
#include <set>

#include "gmock/gmock.h"
#include "tests/server/dicom/result_store_fixture.h"

namespace isocenter::dicom {
namespace {

using ::testing::HasSubstr;

/// Mask, fill and subtraction of one patient, minutes apart, with headers that name no study.
std::vector<jobs::Job> TestPair(const std::string& patient_id) {
  std::vector<jobs::Job> pair;
  for (const jobs::PairRole role :
       {jobs::PairRole::kMask, jobs::PairRole::kFill, jobs::PairRole::kSubtraction}) {
    jobs::Job job = TestJob(absl::StrCat(patient_id, "-", jobs::Name(role)));
    job.patient_study.patient_id = patient_id;
    job.patient_study.study_id = job.patient_study.study_date = job.patient_study.study_time = "";
    job.create_time += absl::Minutes(3 * static_cast<int>(role));
    job.pair_id = "pair-1";
    job.pair_role = role;
    if (role == jobs::PairRole::kSubtraction) job.source_job_ids = {pair[0].id, pair[1].id};
    pair.push_back(std::move(job));
  }
  return pair;
}

TEST_F(ResultStoreTest, TheJobsOfAPairShareStudyAndFrameOfReference) {
  for (const jobs::Job& job : TestPair("P1")) StoreAndList(job, TestVolume(job.grid));
  const auto series = archive_->FindSeries({});
  ASSERT_TRUE(series.ok());
  ASSERT_EQ(series->size(), 3u);
  EXPECT_EQ(archive_->FindStudies({})->size(), 1u);
  std::vector<std::string> descriptions;
  for (const archive::SeriesRow& row : *series) {
    descriptions.push_back(row.series.description);
    EXPECT_EQ(row.series.frame_of_reference_uid, (*series)[0].series.frame_of_reference_uid);
  }
  EXPECT_EQ(descriptions,
            (std::vector<std::string>{"Cone-beam CT mask fdk", "Cone-beam CT fill fdk",
                                      "Cone-beam CT subtraction fdk"}));
  // The same attributes of the study in every object of it, whenever it was made.
  std::set<std::string> times;
  for (const jobs::Job& job : TestPair("P1")) {
    DcmFileFormat file;
    ASSERT_TRUE(file.loadFile(store_->DicomFiles(job.id)->at(0).c_str()).good());
    times.insert(String(*file.getDataset(), DCM_StudyTime) + " " +
                 String(*file.getDataset(), DCM_StudyID));
  }
  EXPECT_EQ(times.size(), 1u);
  // Another patient's acquisitions with the same pair id stay another patient's.
  StoreAndList(TestPair("P2")[0], TestVolume(TestPair("P2")[0].grid));
  EXPECT_EQ(archive_->FindStudies({})->size(), 2u);
}

TEST_F(ResultStoreTest, ASubtractionNamesWhatItWasMadeOf) {
  const std::vector<jobs::Job> pair = TestPair("P1");
  std::vector<std::vector<std::filesystem::path>> files;
  for (const jobs::Job& job : pair) files.push_back(StoreAndList(job, TestVolume(job.grid)));
  const int slice = 3;
  DcmFileFormat file;
  ASSERT_TRUE(file.loadFile(files[2][slice].c_str()).good());
  DcmDataset& dataset = *file.getDataset();
  EXPECT_EQ(String(dataset, DCM_ImageType), "DERIVED\\SECONDARY\\AXIAL");
  EXPECT_THAT(String(dataset, DCM_DerivationDescription), HasSubstr("fill minus mask"));
  DcmSequenceOfItems* sources = nullptr;
  ASSERT_TRUE(dataset.findAndGetSequence(DCM_SourceImageSequence, sources).good());
  ASSERT_EQ(sources->card(), 2u);
  for (unsigned long i = 0; i < 2; ++i) {
    DcmFileFormat source;
    ASSERT_TRUE(source.loadFile(files[i][slice].c_str()).good());
    EXPECT_EQ(String(*source.getDataset(), DCM_ImageType), "ORIGINAL\\PRIMARY\\AXIAL");
    OFString uid;
    sources->getItem(i)->findAndGetOFString(DCM_ReferencedSOPInstanceUID, uid);
    EXPECT_EQ(std::string(uid.c_str()), String(*source.getDataset(), DCM_SOPInstanceUID));
  }
  for (const auto& series : files) EXPECT_EQ(Validate(series[slice]), "CTImage\n");
}

TEST_F(ResultStoreTest, ARefinementBelongsToWhatItRefines) {
  const jobs::Job source = TestJob("source");
  const auto stored =
      store_->Store(source, View(TestVolume(source.grid), source.grid), nullptr, nullptr);
  ASSERT_TRUE(stored.ok()) << stored.status();
  jobs::Job job = TestJob("source-ref");
  job.patient_study = source.patient_study;
  job.patient_study.study_instance_uid = stored->study_instance_uid;
  job.facts.filter_description = "";
  job.protocol = "fdk_then_pwls_tv";
  job.source_job_ids = {source.id};
  job.refinement = {.algorithm = "os_sqs",
                    .projector = "joseph",
                    .frame_of_reference_uid = stored->frame_of_reference_uid,
                    .iterations = {{1, 0.25, std::nullopt, 1.5}, {2, 0.125, 17.5, 3}}};
  job.progress.iterations_done = 2;
  job.progress.iterations_total = 10;
  const auto files = StoreAndList(job, TestVolume(job.grid));
  EXPECT_EQ(archive_->FindStudies({})->size(), 1u);
  const auto series = archive_->FindSeries({});
  ASSERT_EQ(series->size(), 2u);
  EXPECT_EQ((*series)[0].series.frame_of_reference_uid, (*series)[1].series.frame_of_reference_uid);
  EXPECT_EQ((*series)[1].series.description,
            "Refined (os_sqs, 2 iterations) Cone-beam CT fdk_then_pwls_tv");
  const int slice = 3;
  DcmFileFormat file, refined;
  ASSERT_TRUE(file.loadFile(files[slice].c_str()).good());
  ASSERT_TRUE(refined.loadFile(store_->DicomFiles(source.id)->at(slice).c_str()).good());
  DcmDataset& dataset = *file.getDataset();
  EXPECT_EQ(String(dataset, DCM_ImageType), "ORIGINAL\\PRIMARY\\AXIAL");
  EXPECT_FALSE(dataset.tagExists(DCM_ConvolutionKernel));
  EXPECT_FALSE(dataset.tagExists(DCM_SourceImageSequence));
  EXPECT_THAT(String(dataset, DCM_ImageComments),
              HasSubstr("refined from the frames of job source by os_sqs with projector joseph, "
                        "2 of 10 iterations; relative residual 0.125"));
  DcmItem* other = nullptr;
  ASSERT_TRUE(dataset.findAndGetSequenceItem(DCM_ReferencedImageSequence, other).good());
  OFString uid;
  other->findAndGetOFString(DCM_ReferencedSOPInstanceUID, uid);
  EXPECT_EQ(std::string(uid.c_str()), String(*refined.getDataset(), DCM_SOPInstanceUID));
  EXPECT_EQ(Validate(files[slice]), "CTImage\n");
}

TEST_F(ResultStoreTest, ASecondPassIsDerivedFromTheFirstVolume) {
  const jobs::Job source = TestJob("source");
  const auto stored =
      store_->Store(source, View(TestVolume(source.grid), source.grid), nullptr, nullptr);
  ASSERT_TRUE(stored.ok()) << stored.status();
  jobs::Job job = TestJob("source-ref");
  job.patient_study = source.patient_study;
  job.patient_study.study_instance_uid = stored->study_instance_uid;
  job.protocol = "fdk";
  job.source_job_ids = {source.id};
  job.refinement = {.algorithm = "second_pass_metal_bone",
                    .projector = "joseph",
                    .second_pass = jobs::SecondPassFacts{.metal = true, .bone = true},
                    .frame_of_reference_uid = stored->frame_of_reference_uid,
                    .findings = {"metal: 3.41 ml in 2 pieces"}};
  const auto files = StoreAndList(job, TestVolume(job.grid));
  const auto series = archive_->FindSeries({});
  ASSERT_EQ(series->size(), 2u);
  EXPECT_EQ((*series)[0].series.frame_of_reference_uid, (*series)[1].series.frame_of_reference_uid);
  EXPECT_EQ((*series)[1].series.description,
            "Refined (second pass: metal and bone) Cone-beam CT fdk");
  const int slice = 3;
  DcmFileFormat file, refined;
  ASSERT_TRUE(file.loadFile(files[slice].c_str()).good());
  ASSERT_TRUE(refined.loadFile(store_->DicomFiles(source.id)->at(slice).c_str()).good());
  DcmDataset& dataset = *file.getDataset();
  EXPECT_EQ(String(dataset, DCM_ImageType), "DERIVED\\PRIMARY\\AXIAL");
  EXPECT_EQ(String(dataset, DCM_DerivationDescription),
            "second reconstruction: metal interpolated in the projections (NMAR) and put back; "
            "beam hardening by bone corrected");
  EXPECT_TRUE(dataset.tagExists(DCM_DerivationCodeSequence));
  EXPECT_FALSE(dataset.tagExists(DCM_ReferencedImageSequence));
  EXPECT_THAT(String(dataset, DCM_ImageComments),
              HasSubstr("refined from the frames of job source by second pass: metal and bone; "
                        "metal: 3.41 ml in 2 pieces"));
  DcmItem* other = nullptr;
  ASSERT_TRUE(dataset.findAndGetSequenceItem(DCM_SourceImageSequence, other).good());
  OFString uid;
  other->findAndGetOFString(DCM_ReferencedSOPInstanceUID, uid);
  EXPECT_EQ(std::string(uid.c_str()), String(*refined.getDataset(), DCM_SOPInstanceUID));
  EXPECT_EQ(Validate(files[slice]), absl::StrCat("CTImage\n", kPrivateScheme));
}

// An earlier volume is named; its slices, which lie elsewhere, are no sources of these.
TEST_F(ResultStoreTest, ASelfCalibrationNamesItsReference) {
  for (const bool found : {true, false}) {
    jobs::Job job = TestJob(found ? "found" : "nothing");
    job.source_job_ids = {"source"};
    job.refinement = {.algorithm = "second_pass_self_calibrate",
                      .projector = "joseph",
                      .second_pass = jobs::SecondPassFacts{.self_calibrate = true,
                                                           .reference_job_id = "earlier-7"},
                      .frame_of_reference_uid = "1.2.3.5",
                      .self_calibration = jobs::SelfCalibrationFacts{.found = found}};
    const auto files = StoreAndList(job, TestVolume(job.grid));
    DcmFileFormat file;
    ASSERT_TRUE(file.loadFile(files[3].c_str()).good());
    DcmDataset& dataset = *file.getDataset();
    EXPECT_THAT(String(dataset, DCM_DerivationDescription),
                HasSubstr("found from the projections and the earlier volume of job earlier-7"));
    EXPECT_THAT(String(dataset, DCM_ImageComments),
                HasSubstr("; the volume of job earlier-7 was held beside the frames"));
    EXPECT_FALSE(dataset.tagExists(DCM_SourceImageSequence));
    EXPECT_EQ(Validate(files[3]), absl::StrCat("CTImage\n", kPrivateScheme));
  }
}

TEST_F(ResultStoreTest, APhaseIsNamedAndIsAHeartsOnlyWhereThatIsKnown) {
  const jobs::Job source = TestJob("source");
  ASSERT_TRUE(
      store_->Store(source, View(TestVolume(source.grid), source.grid), nullptr, nullptr).ok());
  struct Cycle {
    jobs::PhaseCycle cycle;
    const char* description;
    bool cardiac, respiratory;
  };
  for (const Cycle& expected :
       {Cycle{jobs::PhaseCycle::kUnknown, "phase 12.5 % (fdk) Cone-beam CT fdk", false, false},
        Cycle{jobs::PhaseCycle::kCardiac, "cardiac phase 12.5 % (fdk) Cone-beam CT fdk", true,
              false},
        Cycle{jobs::PhaseCycle::kRespiratory, "respiratory phase 12.5 % (fdk) Cone-beam CT fdk",
              false, true}}) {
    jobs::Job job = TestJob(absl::StrCat("phase-", jobs::Name(expected.cycle)));
    job.protocol = "fdk";
    job.source_job_ids = {source.id};
    job.facts.phase_cycle = expected.cycle;
    job.refinement = {.algorithm = "fdk",
                      .phase = jobs::PhaseFacts{.phase = 0.125,
                                                .width = 0.2,
                                                .frames = 61,
                                                .largest_gap_deg = 11.25,
                                                .cycle_seconds = 0.8}};
    job.progress.iterations_done = job.progress.iterations_total = 0;
    const auto files = StoreAndList(job, TestVolume(job.grid));
    DcmFileFormat file;
    ASSERT_TRUE(file.loadFile(files[3].c_str()).good());
    DcmDataset& dataset = *file.getDataset();
    EXPECT_EQ(String(dataset, DCM_SeriesDescription), expected.description);
    EXPECT_THAT(String(dataset, DCM_ImageComments),
                HasSubstr("phase 12.5 % of width 20 %, 61 frames, largest gap of the arc 11.2"));
    EXPECT_EQ(dataset.tagExists(DCM_NominalPercentageOfCardiacPhase), expected.cardiac);
    EXPECT_EQ(dataset.tagExists(DCM_NominalPercentageOfRespiratoryPhase), expected.respiratory);
    Float32 percent = 12.5F;
    if (expected.cardiac) dataset.findAndGetFloat32(DCM_NominalPercentageOfCardiacPhase, percent);
    EXPECT_EQ(percent, 12.5F);
    EXPECT_EQ(String(dataset, DCM_ImageType), "ORIGINAL\\PRIMARY\\AXIAL");
  }
}

}  // namespace
}  // namespace isocenter::dicom
