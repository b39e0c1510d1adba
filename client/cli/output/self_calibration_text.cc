#include "client/cli/output/self_calibration_text.h"

#include "kernels/base/units.h"

namespace isocenter::cli {

namespace {

v1::ReferenceMatch AsTold(const recon::ReferenceMatch& match) {
  v1::ReferenceMatch told;
  told.set_taken(match.taken);
  const Vec3 shift = match.patient.shift_mm, turn = match.patient.turn_rad;
  told.mutable_patient()->set_shift_x_mm(shift.x);
  told.mutable_patient()->set_shift_y_mm(shift.y);
  told.mutable_patient()->set_shift_z_mm(shift.z);
  told.mutable_patient()->set_turn_x_deg(RadiansToDegrees(turn.x));
  told.mutable_patient()->set_turn_y_deg(RadiansToDegrees(turn.y));
  told.mutable_patient()->set_turn_z_deg(RadiansToDegrees(turn.z));
  told.set_covered(match.covered);
  told.set_similarity_before(match.similarity_before);
  told.set_similarity_after(match.similarity_after);
  told.set_entropy(match.entropy);
  told.set_planes(match.planes);
  return told;
}

nlohmann::ordered_json ReferenceJson(const v1::ReferenceMatch& match) {
  const v1::ObjectPose& patient = match.patient();
  nlohmann::ordered_json json{
      {"taken", match.taken()},
      {"shift_mm", {patient.shift_x_mm(), patient.shift_y_mm(), patient.shift_z_mm()}},
      {"turn_deg", {patient.turn_x_deg(), patient.turn_y_deg(), patient.turn_z_deg()}},
      {"covered", match.covered()},
      {"similarity_before", match.similarity_before()},
      {"similarity_after", match.similarity_after()},
      {"entropy", match.entropy()}};
  if (match.planes() > 0) json["planes"] = match.planes();
  return json;
}

}  // namespace

nlohmann::ordered_json SelfCalibrationJson(const recon::SelfCalibration& found) {
  v1::SelfCalibration told;
  told.set_found(found.found());
  told.set_constant(found.constant);
  told.set_smooth(found.smooth);
  told.set_u_mm(found.u_mm);
  told.set_roll_deg(RadiansToDegrees(found.roll_rad));
  told.set_smooth_rms_mm(found.smooth_rms_mm());
  told.set_largest_smooth_mm(found.largest_smooth_mm());
  told.set_entropy_before(found.entropy_before);
  told.set_entropy_after(found.entropy_after);
  told.set_planes_before(found.planes_before);
  told.set_planes_after(found.planes_after);
  told.set_not_judged(found.not_judged);
  for (const recon::DetectorMove& from : found.moves) {
    if (!found.found()) break;
    v1::DetectorMove& move = *told.add_move();
    move.set_u_mm(from.u_mm);
    move.set_v_mm(from.v_mm);
  }
  if (found.reference) *told.mutable_reference() = AsTold(*found.reference);
  return SelfCalibrationJson(told);
}

nlohmann::ordered_json SelfCalibrationJson(const v1::SelfCalibration& found) {
  nlohmann::ordered_json json{{"found", found.found()},
                              {"constant", found.constant()},
                              {"smooth", found.smooth()},
                              {"u_mm", found.u_mm()},
                              {"roll_deg", found.roll_deg()},
                              {"smooth_rms_mm", found.smooth_rms_mm()},
                              {"largest_smooth_mm", found.largest_smooth_mm()},
                              {"entropy_before", found.entropy_before()},
                              {"entropy_after", found.entropy_after()}};
  if (found.not_judged().empty()) {
    json["planes_before"] = found.planes_before();
    json["planes_after"] = found.planes_after();
  } else {
    json["not_judged"] = found.not_judged();
  }
  for (const v1::DetectorMove& move : found.move()) {
    json["moves"].push_back({{"u_mm", move.u_mm()}, {"v_mm", move.v_mm()}});
  }
  if (found.has_reference()) json["reference"] = ReferenceJson(found.reference());
  return json;
}

}  // namespace isocenter::cli
