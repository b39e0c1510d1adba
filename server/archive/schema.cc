#include "server/archive/schema.h"

namespace isocenter::archive {
namespace {

constexpr const char* kMigrations[] = {
    // Version 1. A job's record and its result are independent rows: the record exists from the
    // moment the job is accepted, the result only once it is complete.
    R"sql(
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  create_time_us INTEGER NOT NULL,
  record TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE patients (
  key INTEGER PRIMARY KEY,
  identity TEXT NOT NULL UNIQUE,
  id TEXT NOT NULL, name TEXT NOT NULL, birth_date TEXT NOT NULL, sex TEXT NOT NULL
);

CREATE TABLE studies (
  key INTEGER PRIMARY KEY,
  patient_key INTEGER NOT NULL REFERENCES patients (key),
  instance_uid TEXT NOT NULL UNIQUE,
  date TEXT NOT NULL, time TEXT NOT NULL, accession_number TEXT NOT NULL, id TEXT NOT NULL,
  description TEXT NOT NULL, referring_physician_name TEXT NOT NULL
);
CREATE INDEX studies_by_patient ON studies (patient_key);
CREATE INDEX studies_by_date ON studies (date);

CREATE TABLE series (
  key INTEGER PRIMARY KEY,
  study_key INTEGER NOT NULL REFERENCES studies (key),
  job_id TEXT NOT NULL UNIQUE,
  instance_uid TEXT NOT NULL UNIQUE,
  number INTEGER NOT NULL,
  modality TEXT NOT NULL, date TEXT NOT NULL, time TEXT NOT NULL, description TEXT NOT NULL,
  body_part_examined TEXT NOT NULL, protocol_name TEXT NOT NULL, station_name TEXT NOT NULL,
  manufacturer TEXT NOT NULL, frame_of_reference_uid TEXT NOT NULL,
  directory TEXT NOT NULL,
  raw_file_name TEXT NOT NULL, raw_bytes INTEGER NOT NULL,
  instance_count INTEGER NOT NULL
);
CREATE INDEX series_by_study ON series (study_key);

CREATE TABLE instances (
  series_key INTEGER NOT NULL REFERENCES series (key) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  sop_instance_uid TEXT NOT NULL UNIQUE,
  sop_class_uid TEXT NOT NULL,
  number INTEGER NOT NULL, rows INTEGER NOT NULL, columns INTEGER NOT NULL,
  file_name TEXT NOT NULL,
  PRIMARY KEY (series_key, position)
) WITHOUT ROWID;
)sql",
    R"sql(
CREATE TABLE traces (job_id TEXT PRIMARY KEY, trace TEXT NOT NULL) WITHOUT ROWID;
)sql",
    // Version 3. A result may have several series: one for each form of its volume. SQLite cannot
    // drop a constraint, so both tables are made anew; the old instances go first, as they would be
    // deleted with their series.
    R"sql(
CREATE TABLE new_series (
  key INTEGER PRIMARY KEY,
  study_key INTEGER NOT NULL REFERENCES studies (key),
  job_id TEXT NOT NULL,
  instance_uid TEXT NOT NULL UNIQUE,
  number INTEGER NOT NULL,
  modality TEXT NOT NULL, date TEXT NOT NULL, time TEXT NOT NULL, description TEXT NOT NULL,
  body_part_examined TEXT NOT NULL, protocol_name TEXT NOT NULL, station_name TEXT NOT NULL,
  manufacturer TEXT NOT NULL, frame_of_reference_uid TEXT NOT NULL,
  directory TEXT NOT NULL,
  raw_file_name TEXT NOT NULL, raw_bytes INTEGER NOT NULL,
  instance_count INTEGER NOT NULL
);
INSERT INTO new_series SELECT key, study_key, job_id, instance_uid, number, modality, date, time,
  description, body_part_examined, protocol_name, station_name, manufacturer,
  frame_of_reference_uid, directory, raw_file_name, raw_bytes, instance_count FROM series;

CREATE TABLE new_instances (
  series_key INTEGER NOT NULL REFERENCES new_series (key) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  sop_instance_uid TEXT NOT NULL UNIQUE,
  sop_class_uid TEXT NOT NULL,
  number INTEGER NOT NULL, rows INTEGER NOT NULL, columns INTEGER NOT NULL,
  file_name TEXT NOT NULL,
  PRIMARY KEY (series_key, position)
) WITHOUT ROWID;
INSERT INTO new_instances SELECT series_key, position, sop_instance_uid, sop_class_uid, number,
  rows, columns, file_name FROM instances;

DROP TABLE instances;
DROP TABLE series;
ALTER TABLE new_series RENAME TO series;
ALTER TABLE new_instances RENAME TO instances;
CREATE INDEX series_by_study ON series (study_key);
CREATE INDEX series_by_job ON series (job_id);
)sql",
    // What queries look for. The columns of patient_names stand in the order of its key: the
    // structure check of SQLite 3.40 misreads tables without rowid where they do not. One of its
    // rows is a component group of a patient's name, as NameGroups() in insertion.cc writes it.
    R"sql(
ALTER TABLE series ADD COLUMN requested_procedure_id TEXT NOT NULL DEFAULT '';
ALTER TABLE series ADD COLUMN scheduled_step_id TEXT NOT NULL DEFAULT '';
CREATE INDEX series_by_requested_procedure ON series (requested_procedure_id);
CREATE INDEX series_by_scheduled_step ON series (scheduled_step_id);
CREATE INDEX studies_by_accession_number ON studies (accession_number);
CREATE INDEX patients_by_id ON patients (id);
CREATE TABLE patient_names (
  name TEXT NOT NULL,
  patient_key INTEGER NOT NULL REFERENCES patients (key) ON DELETE CASCADE,
  PRIMARY KEY (name, patient_key)
) WITHOUT ROWID;
CREATE INDEX patient_names_by_patient ON patient_names (patient_key);
WITH RECURSIVE groups (key, name, rest) AS (
  SELECT key, NULL, name || '=' FROM patients
  UNION ALL
  SELECT key, substr(rest, 1, instr(rest, '=') - 1), substr(rest, instr(rest, '=') + 1)
  FROM groups WHERE rest <> ''
)
INSERT OR IGNORE INTO patient_names
SELECT lower(rtrim(name, '^ ')), key FROM groups WHERE name IS NOT NULL;
)sql",
    // Instances on their way to other nodes, in the order in which they were put into the queues;
    // `state` is a TransferState. Apart from `instances`, so that storing a result again does not
    // forget what has been sent of it.
    R"sql(
CREATE TABLE transfers (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL,
  destination TEXT NOT NULL,
  sop_instance_uid TEXT NOT NULL,
  sop_class_uid TEXT NOT NULL,
  state INTEGER NOT NULL,
  wants_commitment INTEGER NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt_us INTEGER NOT NULL DEFAULT 0,
  enqueue_time_us INTEGER NOT NULL,
  update_time_us INTEGER NOT NULL,
  UNIQUE (destination, sop_instance_uid)
);
CREATE INDEX transfers_by_state ON transfers (destination, state, key);
CREATE INDEX transfers_by_job ON transfers (job_id, destination);

CREATE TABLE commitments (
  transaction_uid TEXT PRIMARY KEY,
  destination TEXT NOT NULL,
  job_id TEXT NOT NULL,
  request_time_us INTEGER NOT NULL,
  is_reported INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX commitments_by_job ON commitments (job_id);
)sql",
    // The order of listings (listing.cc), out of which pages are cut without sorting. Both indexes
    // begin with the column of the one that they replace.
    R"sql(
CREATE INDEX studies_in_order ON studies (date, time, instance_uid);
DROP INDEX studies_by_date;
CREATE INDEX series_in_order ON series (study_key, number, instance_uid);
DROP INDEX series_by_study;
)sql",
    // For the index that nodes share (index_changes.h): when a result was stored, which tells the
    // latest attributes of a study that several nodes have; the jobs that it has not been told of,
    // in the order of their last change; and what this index is known by there.
    R"sql(
ALTER TABLE series ADD COLUMN commit_time_us INTEGER NOT NULL DEFAULT 0;
CREATE TABLE index_changes (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id TEXT NOT NULL UNIQUE
);
CREATE TABLE index_generation (generation TEXT NOT NULL);
)sql",
};

}  // namespace

std::span<const char* const> SchemaMigrations() { return kMigrations; }

}  // namespace isocenter::archive
