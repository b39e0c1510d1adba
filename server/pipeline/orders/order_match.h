// Which scheduled procedure an acquisition belongs to, and what that says of its identity.
#pragma once

#include <vector>

#include "server/jobs/job.h"
#include "server/jobs/worklist.h"

namespace isocenter::pipeline {

/// What is known of an acquisition once the worklist has answered.
struct OrderMatch {
  jobs::PatientStudy patient_study;
  jobs::Order order;                       // settled
  std::vector<jobs::JobWarning> warnings;  // without patient data
};

/// Whether both have a name, and not the same one: letters of either case are the same, and
/// component groups that only one has say nothing.
bool NamesContradict(const jobs::PatientStudy& header, const jobs::PatientStudy& other);

/// What the worklist is asked about an acquisition; nothing can be asked where neither accession
/// number nor patient id is given.
bool CanBeAsked(const jobs::PatientStudy& header);
/// By accession number where there is one, so that another patient's is noticed.
jobs::WorklistQuery QueryOf(const jobs::PatientStudy& header);

/// Completes what the header says. What it says itself stands: the worklist only fills in what is
/// empty, and adds the component groups of names that the header lacks. Nothing at all is taken of
/// steps that contradict the header in the accession number or the patient id or, where the header
/// has no patient id, in name or date of birth: they may be somebody else's. Of several steps that
/// match, what they have in common. docs/adr/0016 says why.
OrderMatch MatchOrder(const jobs::PatientStudy& header,
                      const std::vector<jobs::ScheduledStep>& steps);

/// The order of one half of a pair for the other: the same, and what its identity adds.
OrderMatch MatchPair(const jobs::PatientStudy& header, const jobs::Job& other);

}  // namespace isocenter::pipeline
