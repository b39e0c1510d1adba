// Audit records as DICOM audit messages. Source: DICOM PS3.15, A.5 (messages), RFC 5424 (syslog),
// RFC 5425 (syslog over TLS).
#pragma once

#include <string>

#include "server/audit/event.h"
#include "server/audit/trail_reader.h"

namespace isocenter::audit {

/// Whether DICOM has a message for an event: for associations only where they were refused.
bool HasMessage(const Event& event);

/// The AuditMessage in XML, in one line. `source` names this installation.
std::string ToAuditMessage(const Event& event, const std::string& source);

/// The message as syslog sends it over TLS: the frame's length, the header with the record's number
/// as sequenceId (RFC 5424, 7.3.1), the XML.
std::string ToSyslogFrame(const NumberedEvent& record, const std::string& source,
                          const std::string& host, int process_id);

}  // namespace isocenter::audit
