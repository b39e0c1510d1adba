#include "server/archive/archive.h"

#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/storage/files.h"
#include "tests/server/archive/temporary_directory.h"

namespace isocenter::archive {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

Result TestResult(const std::string& job_id, const std::string& study_uid,
                  const std::string& patient_id = "P1", int instances = 3) {
  Result result;
  result.patient = {patient_id, "Doe^Jane", "19700101", "F"};
  result.study = {.instance_uid = study_uid, .date = "20260102", .time = "030405"};
  result.series = {.instance_uid = absl::StrCat("series-", job_id), .modality = "CT", .number = 1};
  for (int i = 0; i < instances; ++i) {
    result.instances.push_back({.sop_instance_uid = absl::StrCat(job_id, ".", i),
                                .sop_class_uid = "1.2.840.10008.5.1.4.1.1.2",
                                .number = i + 1,
                                .rows = 10,
                                .columns = 20,
                                .file_name = absl::StrCat("dicom/", i, ".dcm")});
  }
  result.raw_file_name = "volume.f32";
  result.raw_bytes = 8;
  return result;
}

void WriteFiles(const fs::path& directory, const Result& result) {
  fs::create_directory(directory / "dicom");
  for (const Instance& instance : result.instances) {
    std::ofstream(directory / instance.file_name) << instance.sop_instance_uid;
  }
  std::ofstream(directory / result.raw_file_name) << std::string(result.raw_bytes, 'v');
}

class ArchiveTest : public ::testing::Test {
 protected:
  void SetUp() override { Reopen(); }
  void Reopen() {
    archive_.reset();
    auto archive = Archive::Open(root());
    ASSERT_TRUE(archive.ok()) << archive.status();
    archive_ = *std::move(archive);
  }
  fs::path root() const { return directory_.path() / "archive"; }
  absl::Status Store(const std::string& job_id, const Result& result) {
    auto staging = archive_->Stage(job_id, 1000);
    if (!staging.ok()) return staging.status();
    WriteFiles(staging->directory(), result);
    return archive_->Commit(*std::move(staging), result);
  }
  /// With the archive closed.
  void ChangeIndex(const std::string& sql) {
    archive_.reset();
    auto database = Database::Open(root() / "index.sqlite");
    ASSERT_TRUE(database.ok()) << database.status();
    const absl::Status changed = database->Execute(sql);
    ASSERT_TRUE(changed.ok()) << changed;
  }
  std::vector<std::string> Jobs() {
    const auto rows = archive_->FindSeries({});
    EXPECT_TRUE(rows.ok()) << rows.status();
    std::vector<std::string> ids;
    for (const SeriesRow& row : *rows) ids.push_back(row.job_id);
    return ids;
  }
  size_t ResultDirectories() const {
    return std::distance(fs::directory_iterator(root() / "results"), fs::directory_iterator());
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Archive> archive_;
};

jobs::Job TestJob(const std::string& id, int64_t created_us) {
  jobs::Job job;
  job.id = id;
  job.create_time = absl::FromUnixMicros(created_us);
  return job;
}

TEST_F(ArchiveTest, JobsSurviveARestartInOrderOfCreation) {
  ASSERT_TRUE(archive_->Save(TestJob("b", 2)).ok());
  ASSERT_TRUE(archive_->Save(TestJob("a", 3)).ok());
  ASSERT_TRUE(archive_->Save(TestJob("c", 1)).ok());
  jobs::Job changed = TestJob("a", 3);
  changed.state = jobs::JobState::kCompleted;
  ASSERT_TRUE(archive_->Save(changed).ok());
  Reopen();
  const auto loaded = archive_->LoadAll();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_THAT(loaded->jobs, SizeIs(3));
  EXPECT_EQ(loaded->jobs[0].id, "c");
  EXPECT_EQ(loaded->jobs[1].id, "b");
  EXPECT_EQ(loaded->jobs[2].id, "a");
  EXPECT_EQ(loaded->jobs[2].state, jobs::JobState::kCompleted);
}

TEST_F(ArchiveTest, ADamagedRecordCostsNoOther) {
  for (const char* id : {"a", "b", "c", "d"}) ASSERT_TRUE(archive_->Save(TestJob(id, 1)).ok());
  jobs::Job refinement = TestJob("e", 2);
  refinement.source_job_ids = {"a"};
  refinement.refinement.algorithm = "os_sqs";
  ASSERT_TRUE(archive_->Save(refinement).ok());
  ChangeIndex("UPDATE jobs SET record = replace(record, '[\"a\"]', '[]') WHERE id = 'e'");
  ChangeIndex("UPDATE jobs SET record = '{\"id\": \"b' WHERE id = 'b'");
  ChangeIndex("UPDATE jobs SET record = (SELECT record FROM jobs WHERE id = 'a') WHERE id = 'c'");
  ChangeIndex("UPDATE jobs SET id = '../' || char(10) WHERE id = 'd'");
  Reopen();
  const auto loaded = archive_->LoadAll();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  ASSERT_THAT(loaded->jobs, SizeIs(1));
  EXPECT_EQ(loaded->jobs[0].id, "a");
  std::map<std::string, std::string> damaged;
  for (const jobs::DamagedRecord& record : loaded->damaged) {
    EXPECT_TRUE(absl::IsDataLoss(record.what)) << record.what;
    damaged[record.job_id] = std::string(record.what.message());
  }
  EXPECT_THAT(damaged, UnorderedElementsAre(Pair("b", HasSubstr("parse error")),
                                            Pair("c", HasSubstr("job 'a'")),
                                            Pair("../\\n", HasSubstr("its id")),
                                            Pair("e", HasSubstr("has no source_job_ids"))));
}

TEST_F(ArchiveTest, ADamagedRowOfTheIndexCostsNoFile) {
  for (const char* id : {"a", "b"})
    ASSERT_TRUE(Store(id, TestResult(id, absl::StrCat("1.2.", id))).ok());
  ChangeIndex("UPDATE series SET directory = '' WHERE job_id = 'b'");
  Reopen();
  EXPECT_THAT(Jobs(), ElementsAre("a"));
  EXPECT_TRUE(fs::exists(archive_->FilesOf("a")->raw));
  EXPECT_EQ(ResultDirectories(), 1u);
  ASSERT_TRUE(fs::exists(root() / "damaged"));
  const fs::path aside = fs::directory_iterator(root() / "damaged")->path();
  EXPECT_THAT(aside.filename().string(), StartsWith("b."));
  EXPECT_TRUE(fs::exists(aside / "volume.f32"));
}

TEST_F(ArchiveTest, RefinementsSurviveWithTheirIterations) {
  jobs::Job job = TestJob("a", 1);
  job.source_job_ids = {"b"};
  job.refinement = {.algorithm = "os_sqs",
                    .projector = "joseph",
                    .frame_of_reference_uid = "1.2.3",
                    .recipe = "name: \"r\"",
                    .iterations = {{1, 0.25, std::nullopt, 1.5}, {2, 0.125, 17.5, 3}},
                    .findings = {"bone: none"}};
  job.progress.iterations_done = 2;
  job.progress.iterations_total = 10;
  job.progress.refined_fraction = 0.25;
  job.result.timings.refine = 3.5;
  job.warnings = {{jobs::WarningKind::kStoppedEarly, std::nullopt, "stopped"}};
  ASSERT_TRUE(archive_->Save(job).ok());
  ASSERT_TRUE(archive_->Save(TestJob("b", 2)).ok());
  Reopen();
  const auto loaded = archive_->LoadAll();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const jobs::Job& again = loaded->jobs[0];
  EXPECT_TRUE(jobs::IsRefinement(again));
  EXPECT_FALSE(jobs::IsRefinement(loaded->jobs[1]));
  EXPECT_EQ(again.source_job_ids, job.source_job_ids);
  EXPECT_EQ(again.refinement.algorithm, "os_sqs");
  EXPECT_EQ(again.refinement.projector, "joseph");
  EXPECT_EQ(again.refinement.frame_of_reference_uid, "1.2.3");
  EXPECT_EQ(again.refinement.recipe, job.refinement.recipe);
  ASSERT_THAT(again.refinement.iterations, SizeIs(2));
  EXPECT_FALSE(again.refinement.iterations[0].objective);
  EXPECT_THAT(again.refinement.findings, ElementsAre("bone: none"));
  EXPECT_EQ(again.refinement.iterations[0].relative_residual, 0.25);
  EXPECT_EQ(again.refinement.iterations[1].iteration, 2);
  EXPECT_EQ(again.refinement.iterations[1].objective, 17.5);
  EXPECT_EQ(again.refinement.iterations[1].seconds, 3);
  EXPECT_EQ(again.progress.iterations_done, 2);
  EXPECT_EQ(again.progress.iterations_total, 10);
  EXPECT_EQ(again.progress.refined_fraction, 0.25);
  EXPECT_EQ(again.result.timings.refine, 3.5);
  EXPECT_EQ(again.warnings, job.warnings);
}

TEST_F(ArchiveTest, IllegalJobIdsNeverReachTheDisk) {
  for (const char* id : {"", ".", "..", "a/b", "a b", "\xc3\xa4"}) {
    EXPECT_EQ(archive_->Save(TestJob(id, 1)).code(), absl::StatusCode::kInvalidArgument) << id;
    EXPECT_EQ(archive_->Stage(id, 0).status().code(), absl::StatusCode::kInvalidArgument) << id;
    EXPECT_EQ(archive_->Delete(id).code(), absl::StatusCode::kInvalidArgument) << id;
  }
  EXPECT_FALSE(archive_->Save(TestJob(std::string(65, 'a'), 1)).ok());
}

TEST_F(ArchiveTest, CommittedResultIsFoundAtEveryLevel) {
  const Result result = TestResult("job", "1.2.3");
  ASSERT_TRUE(Store("job", result).ok());
  Reopen();
  EXPECT_THAT(archive_->repairs(), IsEmpty());
  const auto patients = *archive_->FindPatients({});
  ASSERT_THAT(patients, SizeIs(1));
  EXPECT_EQ(patients[0].patient.name, "Doe^Jane");
  EXPECT_EQ(patients[0].instance_count, 3);
  const auto studies = *archive_->FindStudies({});
  ASSERT_THAT(studies, SizeIs(1));
  EXPECT_THAT(studies[0].modalities, ElementsAre("CT"));
  const auto instances = *archive_->FindInstances("series-job");
  ASSERT_THAT(instances, SizeIs(3));
  EXPECT_EQ(instances[2].instance.number, 3);
  EXPECT_TRUE(fs::exists(instances[2].file));
  const auto files = archive_->FilesOf("job");
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(fs::file_size(files->raw), 8u);
  EXPECT_THAT(files->instances, SizeIs(3));
}

TEST_F(ArchiveTest, SelectionNarrows) {
  Result early = TestResult("early", "1.1"), late = TestResult("late", "1.2");
  early.study.date = "20250101";
  ASSERT_TRUE(Store("early", early).ok());
  ASSERT_TRUE(Store("late", late).ok());
  EXPECT_THAT(*archive_->FindStudies({.study_uids = {"1.1"}}), SizeIs(1));
  EXPECT_THAT(*archive_->FindStudies({.study_uids = {"1.1", "1.2", "9"}}), SizeIs(2));
  EXPECT_THAT(*archive_->FindSeries({.series_uids = {"series-late"}}), SizeIs(1));
  EXPECT_THAT(*archive_->FindStudies({.first_study_date = "20250102"}), SizeIs(1));
  EXPECT_THAT(*archive_->FindStudies({.last_study_date = "20250101"}), SizeIs(1));
  EXPECT_THAT(*archive_->FindStudies({.study_uids = {"' OR 1=1 --"}}), IsEmpty());
}

TEST_F(ArchiveTest, ArchiveCanBeMoved) {
  ASSERT_TRUE(Store("job", TestResult("job", "1.2.3")).ok());
  archive_.reset();
  fs::rename(root(), directory_.path() / "elsewhere");
  const auto moved = Archive::Open(directory_.path() / "elsewhere");
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_THAT((*moved)->repairs(), IsEmpty());
  EXPECT_TRUE(fs::exists((*moved)->FilesOf("job")->raw));
}

TEST_F(ArchiveTest, DeleteRemovesRecordFilesAndWhatHasNoChildren) {
  ASSERT_TRUE(archive_->Save(TestJob("one", 1)).ok());
  ASSERT_TRUE(Store("one", TestResult("one", "1.1")).ok());
  ASSERT_TRUE(Store("two", TestResult("two", "1.1")).ok());
  ASSERT_TRUE(archive_->Delete("one").ok());
  EXPECT_THAT(Jobs(), ElementsAre("two"));
  EXPECT_THAT(archive_->LoadAll()->jobs, IsEmpty());
  EXPECT_EQ(ResultDirectories(), 1u);
  EXPECT_THAT(*archive_->FindPatients({}), SizeIs(1));
  ASSERT_TRUE(archive_->Delete("two").ok());
  EXPECT_THAT(*archive_->FindStudies({}), IsEmpty());
  EXPECT_THAT(*archive_->FindPatients({}), IsEmpty());
  EXPECT_EQ(ResultDirectories(), 0u);
  EXPECT_TRUE(archive_->Delete("two").ok());  // nothing left
  EXPECT_EQ(archive_->FilesOf("two").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ArchiveTest, PatientsAreToldApart) {
  Result nameless = TestResult("c", "1.3", "");
  nameless.patient = {};
  Result other_nameless = TestResult("d", "1.4", "");
  other_nameless.patient = {};
  ASSERT_TRUE(Store("a", TestResult("a", "1.1", "P1")).ok());
  ASSERT_TRUE(Store("b", TestResult("b", "1.2", "P1")).ok());
  ASSERT_TRUE(Store("c", nameless).ok());
  ASSERT_TRUE(Store("d", other_nameless).ok());
  EXPECT_THAT(*archive_->FindPatients({}), SizeIs(3));
}

TEST_F(ArchiveTest, StudyThatChangesItsPatientLeavesNoOrphan) {
  ASSERT_TRUE(Store("a", TestResult("a", "1.1", "WRONG")).ok());
  ASSERT_TRUE(Store("a", TestResult("a", "1.1", "RIGHT")).ok());
  ASSERT_TRUE(Store("b", TestResult("b", "1.1", "FINAL")).ok());
  const auto patients = *archive_->FindPatients({});
  ASSERT_THAT(patients, SizeIs(1));
  EXPECT_EQ(patients[0].patient.id, "FINAL");
}

TEST_F(ArchiveTest, AResultWithoutPatientIdLeavesItsStudyWithThePatient) {
  ASSERT_TRUE(Store("a", TestResult("a", "1.1", "P1")).ok());
  for (const char* name : {"", "Doe^Jane", "Roe^Richard"}) {
    Result unknown = TestResult("b", "1.1", "");
    unknown.patient = {.name = name};
    ASSERT_TRUE(Store("b", unknown).ok());
    const auto patients = *archive_->FindPatients({});
    ASSERT_THAT(patients, SizeIs(1)) << name;
    EXPECT_EQ(patients[0].patient.id, "P1");
    EXPECT_EQ(patients[0].instance_count, 6);
  }
}

TEST_F(ArchiveTest, FailedCommitLeavesTheEarlierResult) {
  ASSERT_TRUE(Store("a", TestResult("a", "1.1")).ok());
  Result clash = TestResult("b", "1.1");
  clash.series.instance_uid = "series-a";  // another job's
  EXPECT_EQ(Store("b", clash).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Jobs(), ElementsAre("a"));
  EXPECT_EQ(ResultDirectories(), 1u);
  EXPECT_TRUE(fs::is_empty(root() / "staging"));
}

TEST_F(ArchiveTest, StagingThatIsNotCommittedGoes) {
  { auto staging = archive_->Stage("job", 0); }
  EXPECT_TRUE(fs::is_empty(root() / "staging"));
}

// What a crash leaves at each point of a store is made by hand, then the archive is opened.

TEST_F(ArchiveTest, CrashWhileWriting) {
  archive_.reset();
  fs::create_directories(root() / "staging/job.00000001/dicom");
  Reopen();
  EXPECT_TRUE(fs::is_empty(root() / "staging"));
  EXPECT_THAT(archive_->repairs(), ElementsAre(HasSubstr("job.00000001")));
}

TEST_F(ArchiveTest, CrashBetweenRenameAndTransactionOrAfterADelete) {
  ASSERT_TRUE(Store("kept", TestResult("kept", "1.1")).ok());
  archive_.reset();
  fs::create_directories(root() / "results/lost.00000001/dicom");
  Reopen();
  EXPECT_EQ(ResultDirectories(), 1u);
  EXPECT_THAT(Jobs(), ElementsAre("kept"));
  EXPECT_THAT(archive_->repairs(), ElementsAre(HasSubstr("lost.00000001")));
}

TEST_F(ArchiveTest, ALostIndexCostsNoResult) {
  for (const char* id : {"a", "b"}) {
    ASSERT_TRUE(archive_->Save(TestJob(id, 1)).ok());
    ASSERT_TRUE(Store(id, TestResult(id, absl::StrCat("1.", id))).ok());
  }
  EXPECT_EQ(archive_->unnamed().count, 0);
  const std::string name = archive_->FilesOf("a")->raw.parent_path().filename();
  archive_.reset();
  fs::remove(root() / "index.sqlite");
  Reopen();
  EXPECT_THAT(Jobs(), IsEmpty());
  EXPECT_EQ(ResultDirectories(), 0u);
  EXPECT_EQ(archive_->unnamed().count, 2);
  EXPECT_TRUE(archive_->unnamed().index_is_empty);
  EXPECT_EQ(archive_->unnamed().directory, root() / "damaged");
  for (const char* file : {"volume.f32", "dicom/0.dcm", "dicom/1.dcm", "dicom/2.dcm"}) {
    EXPECT_TRUE(fs::exists(root() / "damaged" / name / file)) << file;
  }
  EXPECT_THAT(archive_->repairs(),
              Contains(AllOf(HasSubstr(name), HasSubstr((root() / "damaged" / name).string()))));
  Reopen();  // told once
  EXPECT_EQ(archive_->unnamed().count, 0);
  EXPECT_THAT(archive_->repairs(), IsEmpty());
}

TEST_F(ArchiveTest, AnOlderIndexCostsNoNewerResult) {
  ASSERT_TRUE(Store("old", TestResult("old", "1.1")).ok());
  archive_.reset();
  fs::copy_file(root() / "index.sqlite", directory_.path() / "copy.sqlite");
  Reopen();
  ASSERT_TRUE(Store("newer", TestResult("newer", "1.2")).ok());
  const fs::path newer = archive_->FilesOf("newer")->raw.parent_path();
  // Twice: what was set aside may be put back, and lose its index again.
  for (const char* suffix : {"", ".2"}) {
    archive_.reset();
    const fs::path aside = root() / "damaged" / (newer.filename().string() + suffix);
    if (!fs::exists(newer)) {
      fs::copy(root() / "damaged" / newer.filename(), newer, fs::copy_options::recursive);
    }
    fs::copy_file(directory_.path() / "copy.sqlite", root() / "index.sqlite",
                  fs::copy_options::overwrite_existing);
    Reopen();
    EXPECT_THAT(Jobs(), ElementsAre("old"));
    EXPECT_TRUE(fs::exists(archive_->FilesOf("old")->raw));
    EXPECT_TRUE(fs::exists(aside / "volume.f32")) << aside;
    EXPECT_EQ(archive_->unnamed().count, 1);
    EXPECT_FALSE(archive_->unnamed().index_is_empty);
  }
}

TEST_F(ArchiveTest, KnowsWhetherItWasThere) {
  EXPECT_TRUE(archive_->is_new());
  EXPECT_TRUE(Archive::IsAt(root()));
  Reopen();
  EXPECT_FALSE(archive_->is_new());
  // Another disk is mounted there, or none.
  archive_.reset();
  fs::rename(root(), directory_.path() / "unmounted");
  fs::create_directory(root());
  EXPECT_FALSE(Archive::IsAt(root()));
  Reopen();
  EXPECT_TRUE(archive_->is_new());
}

TEST_F(ArchiveTest, ResultsThatLackFilesAreTakenOutAndSetAside) {
  for (const char* id : {"whole", "gone", "short", "truncated"}) {
    ASSERT_TRUE(Store(id, TestResult(id, "1.1")).ok());
  }
  for (const char* id : {"whole", "gone"}) {
    jobs::Job job = TestJob(id, 1);
    job.state = jobs::JobState::kCompleted;
    ASSERT_TRUE(archive_->Save(job).ok());
  }
  const fs::path gone = archive_->FilesOf("gone")->raw.parent_path();
  const fs::path one_less = archive_->FilesOf("short")->instances[1];
  const fs::path raw = archive_->FilesOf("truncated")->raw;
  archive_.reset();
  fs::remove_all(gone);
  fs::remove(one_less);
  fs::resize_file(raw, 5);
  Reopen();
  EXPECT_THAT(Jobs(), ElementsAre("whole"));
  EXPECT_EQ(ResultDirectories(), 1u);
  EXPECT_EQ(std::distance(fs::directory_iterator(root() / "damaged"), fs::directory_iterator()), 2);
  EXPECT_THAT(archive_->repairs(), SizeIs(5));
  // Its job says so, and does so once.
  for (int start = 0; start < 2; ++start) {
    const auto loaded = archive_->LoadAll();
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    ASSERT_THAT(loaded->jobs, SizeIs(2));
    for (const jobs::Job& job : loaded->jobs) {
      const bool lost = job.id == "gone";
      EXPECT_EQ(job.state, lost ? jobs::JobState::kFailed : jobs::JobState::kCompleted) << job.id;
      EXPECT_EQ(job.error.code(), lost ? absl::StatusCode::kDataLoss : absl::StatusCode::kOk);
      EXPECT_THAT(std::string(job.error.message()), HasSubstr(lost ? "result is lost: when" : ""));
    }
    Reopen();
  }
}

TEST_F(ArchiveTest, KilledProcessLosesNothingThatWasReported) {
  archive_.reset();
  int reported[2];
  ASSERT_EQ(pipe(reported), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // stores without end until it is killed
    auto archive = Archive::Open(root());
    if (!archive.ok()) _exit(1);
    for (uint32_t i = 0;; ++i) {
      const std::string id = absl::StrCat("job", i);
      if (!(*archive)->Save(TestJob(id, i)).ok()) _exit(2);
      const Result result = TestResult(id, absl::StrCat("1.", i));
      auto staging = (*archive)->Stage(id, 0);
      if (!staging.ok()) _exit(3);
      WriteFiles(staging->directory(), result);
      if (!(*archive)->Commit(*std::move(staging), result).ok()) _exit(4);
      if (write(reported[1], &i, sizeof i) != sizeof i) _exit(5);
    }
  }
  close(reported[1]);
  uint32_t last = 0;
  while (last < 5) ASSERT_EQ(read(reported[0], &last, sizeof last), ssize_t{sizeof last});
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  while (read(reported[0], &last, sizeof last) == sizeof last) {
  }
  close(reported[0]);
  Reopen();
  EXPECT_GE(Jobs().size(), last + 1);
  EXPECT_GE(archive_->LoadAll()->jobs.size(), last + 1);
  for (const std::string& id : Jobs()) EXPECT_TRUE(fs::exists(archive_->FilesOf(id)->raw)) << id;
  EXPECT_EQ(ResultDirectories(), Jobs().size());
  EXPECT_TRUE(fs::is_empty(root() / "staging"));
}

TEST_F(ArchiveTest, FullDiskIsRefusedBeforeWriting) {
  const uint64_t needed = uint64_t{1} << 60;
  const absl::Status status = archive_->Stage("job", needed).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1 EiB are needed"));
  EXPECT_THAT(std::string(status.message()), ContainsRegex("[0-9.]+ [A-Za-z]+ are free"));
  EXPECT_TRUE(fs::is_empty(root() / "staging"));
}

TEST_F(ArchiveTest, DiskThatFillsWhileWriting) {
  // The limit of file sizes stands for the end of the disk: both fail in write().
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = 1 << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  absl::Status status;
  {
    auto staging = archive_->Stage("job", 0);
    ASSERT_TRUE(staging.ok());
    auto file = storage::OutputFile::Create(staging->directory() / "big");
    ASSERT_TRUE(file.ok()) << file.status();
    const std::vector<std::byte> data(3 << 20);
    status = file->WriteAt(0, data);
  }
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("3 MiB were needed"));
  EXPECT_TRUE(fs::is_empty(root() / "staging"));
}

TEST_F(ArchiveTest, SecondOpenerIsRefused) {
  const auto second = Archive::Open(root());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("in use by another process"));
}

TEST_F(ArchiveTest, NewerIndexIsRefused) {
  archive_.reset();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((root() / "index.sqlite").c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA user_version = 99", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  const absl::Status status = Archive::Open(root()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 99"));
}

TEST_F(ArchiveTest, IndexThatIsNoneIsRefused) {
  archive_.reset();
  for (const char* suffix : {"-wal", "-shm"}) {
    fs::remove(root() / absl::StrCat("index.sqlite", suffix));
  }
  std::ofstream(root() / "index.sqlite") << std::string(8192, 'x');
  EXPECT_EQ(Archive::Open(root()).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ArchiveTest, PlacesThatCannotBeUsed) {
  std::ofstream(directory_.path() / "file") << "x";
  EXPECT_THAT(std::string(Archive::Open(directory_.path() / "file").status().message()),
              HasSubstr("is a file"));
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::create_directory(directory_.path() / "locked");
  fs::permissions(directory_.path() / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(Archive::Open(directory_.path() / "locked").status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST_F(ArchiveTest, ManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const std::string id = absl::StrCat("t", t, "-", i);
        EXPECT_TRUE(archive_->Save(TestJob(id, i)).ok());
        EXPECT_TRUE(Store(id, TestResult(id, absl::StrCat("1.", t))).ok());
        EXPECT_TRUE(archive_->FindSeries({}).ok());
        if (i % 2 == 0) {
          EXPECT_TRUE(archive_->Delete(id).ok());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Jobs(), SizeIs(16));
  EXPECT_EQ(ResultDirectories(), 16u);
}

}  // namespace
}  // namespace isocenter::archive
