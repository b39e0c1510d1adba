#include "client/cli/calibrate/geometry_report.h"

#include "absl/strings/str_format.h"
#include "client/cli/calibrate/set_file.h"
#include "kernels/base/units.h"

namespace isocenter::cli {
namespace {

// What a parameter must be known to, to be called observable.
constexpr double kObservableMm = 0.05, kObservableDeg = 0.02, kObservableShare = 1e-3;

struct Parameter {
  const char* name;
  double sigma, bound;
  const char* unit;
};

std::vector<Parameter> ParametersOf(const calibrate::GeometryFit& fit) {
  const calibrate::GeometrySigmas& sigmas = fit.sigmas;
  std::vector<Parameter> parameters = {
      {"source along the rays, with the focal length", sigmas.source_along_mm, kObservableMm, "mm"},
      {"source across the rays", sigmas.source_across_mm, kObservableMm, "mm"},
      {"detector's tilt, with the principal point", sigmas.tilt_deg, kObservableDeg, "deg"},
      {"detector's roll", sigmas.roll_deg, kObservableDeg, "deg"}};
  if (sigmas.aspect > 0) {
    parameters.push_back({"ratio of the pixels' sides", sigmas.aspect, kObservableShare, ""});
    parameters.push_back(
        {"angle of rows and columns", RadiansToDegrees(sigmas.skew), kObservableDeg, "deg"});
  }
  return parameters;
}

nlohmann::ordered_json ToJson(const calibrate::FrameReport& frame) {
  return {{"measured", frame.measured}, {"crowded", frame.crowded},
          {"outside", frame.outside},   {"missing", frame.missing},
          {"odd", frame.odd},           {"unexplained", frame.unexplained},
          {"rms_px", frame.rms_px}};
}

nlohmann::ordered_json ToJson(const calibrate::BallReport& ball) {
  return {{"frames", ball.frames},
          {"missing", ball.missing},
          {"offset_mm", {ball.offset.x, ball.offset.y, ball.offset.z}},
          {"diameter_mm", ball.diameter_mm},
          {"left_out", ball.left_out},
          {"why", ball.why}};
}

}  // namespace

const char* ModelName(calibrate::GeometryModel model) {
  return model == calibrate::GeometryModel::kArm ? "arm" : "frames";
}

nlohmann::ordered_json GeometryReport(const calibrate::GeometryFit& fit) {
  nlohmann::ordered_json report = {{"model", ModelName(fit.model)},
                                   {"parameters_of_a_frame", fit.parameters},
                                   {"rms_px", fit.rms_px},
                                   {"rms_nine_px_per_dof", fit.rms_square_px},
                                   {"rms_eleven_px_per_dof", fit.rms_eleven_px},
                                   {"rms_frames_px_per_dof", fit.rms_frames_px},
                                   {"rms_arm_px_per_dof", fit.rms_arm_px},
                                   {"warnings", fit.warnings}};
  report["figures"] = cli::ToJson(fit.figures);
  for (const Parameter& parameter : ParametersOf(fit)) {
    report["parameters"].push_back({{"name", parameter.name},
                                    {"sigma", parameter.sigma},
                                    {"unit", parameter.unit},
                                    {"observable", parameter.sigma <= parameter.bound}});
  }
  for (const auto& frame : fit.frames) report["frames"].push_back(ToJson(frame));
  for (const auto& ball : fit.balls) report["balls"].push_back(ToJson(ball));
  return report;
}

std::vector<std::string> Observability(const calibrate::GeometryFit& fit) {
  std::vector<std::string> texts;
  texts.push_back(absl::StrFormat(
      "%d parameters of each frame: residuals for each degree of freedom %.4f px with nine, %.4f "
      "px with eleven; %s",
      fit.parameters, fit.rms_square_px, fit.rms_eleven_px,
      fit.sigmas.aspect > 0
          ? absl::StrFormat("pixels' sides differ by up to %.2g, rows and columns are up to %.2g "
                            "deg off a right angle",
                            fit.most_aspect, RadiansToDegrees(fit.most_skew))
          : "pixels are what the detector's pitches say"));
  for (const Parameter& parameter : ParametersOf(fit)) {
    texts.push_back(
        absl::StrFormat("%s: sigma %.3g %s, %s", parameter.name, parameter.sigma, parameter.unit,
                        parameter.sigma <= parameter.bound
                            ? "observable"
                            : absl::StrFormat("not observable to %g", parameter.bound)));
  }
  return texts;
}

}  // namespace isocenter::cli
