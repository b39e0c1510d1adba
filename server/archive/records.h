// Rows of the index: what queries can ask for. Plain data; strings are UTF-8, dates YYYYMMDD, times
// HHMMSS, as they stand in the DICOM objects.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace isocenter::archive {

struct Patient {
  std::string id, name, birth_date, sex;
};

struct Study {
  std::string instance_uid, date, time, accession_number, id, description;
  std::string referring_physician_name;
};

struct Series {
  std::string instance_uid, modality, date, time, description, body_part_examined;
  std::string protocol_name, station_name, manufacturer, frame_of_reference_uid;
  int number = 0;
  // The request of the information system that it was made for, as the Request Attributes Sequence
  // of its instances has it; empty: none.
  std::string requested_procedure_id, scheduled_step_id;
};

struct Instance {
  std::string sop_instance_uid, sop_class_uid;
  int number = 0;
  int rows = 0, columns = 0;
  std::string file_name;  // within its result's directory
};

/// A series and its objects.
struct SeriesFiles {
  Series series;
  std::vector<Instance> instances;  // in slice order
};

/// A node that a result goes to.
struct Destination {
  std::string ae_title;
  bool storage_commitment = false;         // it is asked to confirm that it keeps the instances
  std::set<std::string> sop_classes = {};  // only instances of these; empty: all
};

/// All of one job's stored volume, as it is handed to the archive.
struct Result {
  Patient patient;
  Study study;
  Series series;
  std::vector<Instance> instances;  // in slice order
  std::string raw_file_name;        // within the result's directory
  uint64_t raw_bytes = 0;
  std::vector<SeriesFiles> further_series;  // the same volume in other forms
  std::vector<Destination> destinations;    // into whose queues it is put when it becomes visible
};

/// Answers of queries: a row, its parents and what is below it.
struct PatientRow {
  Patient patient;
  int64_t study_count = 0, series_count = 0, instance_count = 0;
};
struct StudyRow {
  Patient patient;
  Study study;
  std::vector<std::string> modalities;
  int64_t series_count = 0, instance_count = 0;
};
struct SeriesRow {
  Patient patient;
  Study study;
  Series series;
  std::string job_id;
  int64_t instance_count = 0;
};
struct InstanceRow {
  Instance instance;
  std::filesystem::path file;  // absolute
  std::string node = {};       // whose archive the file is in; empty: this node's
};

/// One value, or all values that begin with it.
struct TextTerm {
  std::string text;
  bool is_prefix = false;
};

/// Conditions that the index itself decides, each by an index of its own. Empty lists and strings
/// match everything; of a list one has to match.
struct Selection {
  std::vector<std::string> study_uids, series_uids;
  std::string first_study_date, last_study_date;  // inclusive
  std::vector<std::string> sop_instance_uids;     // of series that hold one of these
  std::vector<TextTerm> patient_ids, accession_numbers, requested_procedure_ids, scheduled_step_ids;
  /// Beginnings of component groups of the name, in lower case (ASCII).
  std::vector<TextTerm> patient_names;
};

}  // namespace isocenter::archive
