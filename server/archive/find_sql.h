// The statements that answer C-FIND, and what their rows say: for this node's index and for one
// that nodes share, so that both match alike.
#pragma once

#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "server/archive/dialect.h"
#include "server/archive/records.h"

namespace isocenter::archive {

/// By id.
Statement PatientsStatement(const Selection& selection, const Dialect& dialect = {});
/// By date and time.
Statement StudiesStatement(const Selection& selection, const Dialect& dialect = {});
/// By study, then number.
Statement SeriesStatement(const Selection& selection, const Dialect& dialect = {});
/// Of a series, in slice order. Besides what InstanceRowOf() reads: the result's directory and
/// whose archive it is in.
Statement InstancesStatement(const std::string& series_uid, const Dialect& dialect = {});
constexpr int kInstanceDirectory = 6, kInstanceNode = 7;

// What a row of each says. `Row` has Text(column) and Integer(column).

template <class Row>
Patient PatientOf(const Row& row) {
  return {row.Text(0), row.Text(1), row.Text(2), row.Text(3)};
}

template <class Row>
Study StudyOf(const Row& row) {
  return {row.Text(4), row.Text(5), row.Text(6), row.Text(7),
          row.Text(8), row.Text(9), row.Text(10)};
}

template <class Row>
PatientRow PatientRowOf(const Row& row) {
  return {PatientOf(row), row.Integer(4), row.Integer(5), row.Integer(6)};
}

template <class Row>
StudyRow StudyRowOf(const Row& row) {
  return {PatientOf(row), StudyOf(row), absl::StrSplit(row.Text(11), ',', absl::SkipEmpty()),
          row.Integer(12), row.Integer(13)};
}

template <class Row>
SeriesRow SeriesRowOf(const Row& row) {
  Series series{.instance_uid = row.Text(11),
                .modality = row.Text(12),
                .date = row.Text(13),
                .time = row.Text(14),
                .description = row.Text(15),
                .body_part_examined = row.Text(16),
                .protocol_name = row.Text(17),
                .station_name = row.Text(18),
                .manufacturer = row.Text(19),
                .frame_of_reference_uid = row.Text(20),
                .number = static_cast<int>(row.Integer(21)),
                .requested_procedure_id = row.Text(22),
                .scheduled_step_id = row.Text(23)};
  return {PatientOf(row), StudyOf(row), std::move(series), row.Text(24), row.Integer(25)};
}

/// Without its file.
template <class Row>
InstanceRow InstanceRowOf(const Row& row) {
  return {{row.Text(0), row.Text(1), static_cast<int>(row.Integer(2)),
           static_cast<int>(row.Integer(3)), static_cast<int>(row.Integer(4)), row.Text(5)},
          {},
          {}};
}

}  // namespace isocenter::archive
