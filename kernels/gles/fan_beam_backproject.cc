#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/geometry/quarter_turns.h"
#include "kernels/gles/device.h"
#include "kernels/gles/fan_beam_scan.h"
#include "kernels/gles/fan_beam_shaders.h"
#include "kernels/gles/fan_beam_squares.h"
#include "kernels/gles/methods.h"
#include "kernels/gles/program.h"

namespace isocenter::gles {
namespace {

constexpr int kTextureViews = 1024;  // of a row of the texture of views
constexpr int64_t kFloat = sizeof(float);

// One way to do it. `half`: rows are float16.
struct Way {
  FanForm form = FanForm::kCompute;
  FanPixels pixels = FanPixels::kAlone;
  bool half = false;

  bool drawn() const { return form != FanForm::kCompute; }
  bool squares() const { return form == FanForm::kSquares || form == FanForm::kBlendedSquares; }
};

int ComponentsOf(FanPixels pixels) { return pixels == FanPixels::kAlone ? 1 : 4; }

// Where a run reads and writes.
struct Job {
  const FanBeamGeometry& geometry;
  int first_view;
  const Stack& stack;
  const Volume& volume;
};

// Views of one slice that a shader goes over at once, in order.
struct Part {
  int64_t slice;
  int64_t first, count;  // of all views, or of the first quarter's
};

// Programs of one way to work on pixels.
struct Programs {
  static absl::StatusOr<Programs> Create(const Context& context, FanPixels pixels, const Way& way) {
    Programs made;
    if (!way.drawn()) {
      ISO_ASSIGN_OR_RETURN(made.sum, Program::Compute(context, ComputeShader(pixels)));
      return made;
    }
    if (way.squares()) {
      const bool blended = way.form == FanForm::kBlendedSquares;
      ISO_ASSIGN_OR_RETURN(
          made.sum, Program::Draw(context, SquareVertexShader(), SquareFragmentShader(blended)));
    } else {
      ISO_ASSIGN_OR_RETURN(made.sum, Program::Fragment(context, FragmentShader(pixels)));
    }
    ISO_ASSIGN_OR_RETURN(made.add, Program::Compute(context, AddDrawnShader(pixels)));
    return made;
  }
  Program sum;
  Program add;  // of what was drawn
};

class Backproject final : public ops::FanBeamBackproject {
 public:
  struct Shaders {
    Program pack;
    Programs alone, quarters;
  };
  Backproject(const GlesSession& session, const Shaders& shaders, const Way& way)
      : context_(session.context()),
        shaders_(shaders),
        way_(way),
        packed_(session.context(), session.budget()),
        views_(session.context(), session.budget()) {}

  absl::Status DoRun(const FanBeamGeometry& geometry, int first_view,
                     const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const Context::Current current(*context_);
    const Job job{geometry, first_view, *stack, *target};
    const Shape3& shape = stack->shape();
    const bool alike = QuarterTurnsAreAlike(geometry, shape.slow, target->grid());
    const FanPixels pixels = alike ? way_.pixels : FanPixels::kAlone;
    ISO_ASSIGN_OR_RETURN(const int64_t at_once, ViewsAtOnce(job, pixels));
    const int64_t views = shape.slow / ComponentsOf(pixels);
    for (int64_t first = 0; first < views; first += at_once) {
      const int64_t count = std::min(at_once, views - first);
      for (int64_t slice = 0; slice < shape.middle; ++slice) {
        ISO_RETURN_IF_ERROR(Add(job, pixels, {slice, first, count}));
      }
    }
    context_->gl().Finish();
    return context_->Check("back-projecting");
  }

 private:
  // Of packed values.
  double FactorOf(const Job& job) const { return way_.half ? FanHalfFactor(job.geometry) : 1; }

  // Of a packed row, in texels.
  static int64_t WidthOf(const Job& job) { return job.stack.shape().fast + 2 * kFanMargin; }

  absl::StatusOr<int64_t> ViewsAtOnce(const Job& job, FanPixels pixels) const {
    const VolumeGrid& grid = job.volume.grid();
    const Shape3& shape = job.stack.shape();
    const int64_t texture = context_->largest_texture();
    const int64_t binding = context_->largest_binding() - context_->binding_alignment();
    const int64_t pixel_bytes = int64_t{grid.nx} * grid.ny * kFloat;
    const int64_t view_bytes =
        std::max(shape.middle * shape.fast, WidthOf(job) * ComponentsOf(pixels)) * kFloat;
    if (way_.drawn() && (WidthOf(job) > texture || std::max(grid.nx, grid.ny) > texture)) {
      return absl::InvalidArgumentError(
          absl::StrCat(shape.fast, " channels and ", grid.nx, "x", grid.ny, " pixels; textures of ",
                       context_->renderer(), " have at most ", texture, " along an axis"));
    }
    if (std::max(pixel_bytes, view_bytes) > binding) {
      return absl::InvalidArgumentError(
          absl::StrCat("a slice of ", pixel_bytes, " and a view of ", view_bytes,
                       " bytes; shaders on ", context_->renderer(), " see at most ", binding));
    }
    const int64_t most = binding / view_bytes;
    return way_.drawn() ? std::min(most, texture) : most;
  }

  absl::Status Add(const Job& job, FanPixels pixels, const Part& part) {
    ISO_ASSIGN_OR_RETURN(const GraphicsBuffer* packed, Pack(job, pixels, part));
    const Programs& programs = pixels == FanPixels::kAlone ? shaders_.alone : shaders_.quarters;
    const std::vector<float> turns =
        FanTurns(job.geometry, job.first_view + part.first, part.count);
    programs.sum.Use();
    SetFanScan(programs.sum, job.geometry, job.volume.grid());
    programs.sum.Set("view_count", static_cast<int>(part.count));
    if (way_.drawn()) return AddDrawn(job, pixels, part, programs, turns, *packed);
    ISO_ASSIGN_OR_RETURN(GraphicsBuffer * views,
                         views_.Reserve(static_cast<int64_t>(turns.size())));
    ISO_RETURN_IF_ERROR(views->Upload(0, static_cast<int64_t>(turns.size()), turns.data()));
    programs.sum.Set("views_begin", views->Bind(kViewsBinding, 0, views->floats()) / 2);
    packed->Bind(kRowsBinding, 0, part.count * WidthOf(job) * ComponentsOf(pixels));
    programs.sum.Set("width", static_cast<int>(WidthOf(job)));
    DispatchOverImage(job, pixels, part.slice, programs.sum);
    return absl::OkStatus();
  }

  // The rows of a slice side by side, with zeros at their ends.
  absl::StatusOr<const GraphicsBuffer*> Pack(const Job& job, FanPixels pixels, const Part& part) {
    const Shape3& shape = job.stack.shape();
    const int components = ComponentsOf(pixels);
    ISO_ASSIGN_OR_RETURN(GraphicsBuffer * packed,
                         packed_.Reserve(part.count * WidthOf(job) * components));
    shaders_.pack.Use();
    shaders_.pack.Set("channels", static_cast<int>(shape.fast));
    shaders_.pack.Set("components", components);
    shaders_.pack.Set("half_rows", static_cast<int>(way_.half));
    shaders_.pack.Set("factor", static_cast<float>(FactorOf(job)));
    shaders_.pack.Set("view_count", static_cast<int>(part.count));
    shaders_.pack.Set("view_stride", static_cast<int>(shape.middle * shape.fast));
    shaders_.pack.Set("packed_begin", packed->Bind(kPackedBinding, 0, packed->floats()));
    for (int k = 0; k < components; ++k) {
      // Where angles fall, the view that is a quarter turn on is three quarters of the scan on.
      const int quarter = job.geometry.arc > 0 ? k : (4 - k) % 4;
      const int64_t view = part.first + quarter * (shape.slow / components);
      const int64_t first = (view * shape.middle + part.slice) * shape.fast;
      const int64_t count = ((part.count - 1) * shape.middle + 1) * shape.fast;
      shaders_.pack.Set("rows_begin", job.stack.values().Bind(kRowsBinding, first, count));
      shaders_.pack.Set("component", k);
      shaders_.pack.Dispatch(WidthOf(job), part.count);
    }
    return packed;
  }

  void DispatchOverImage(const Job& job, FanPixels pixels, int64_t slice,
                         const Program& program) const {
    const VolumeGrid& grid = job.volume.grid();
    const int64_t plane = int64_t{grid.nx} * grid.ny;
    program.Set("image_begin", job.volume.values().Bind(kImageBinding, slice * plane, plane));
    program.Set("nx", grid.nx);
    program.Set("ny", grid.ny);
    if (pixels == FanPixels::kAlone) {
      program.Dispatch(grid.nx, grid.ny);
    } else {
      program.Dispatch((grid.nx + 1) / 2, (grid.ny + 1) / 2);
    }
  }

  GLenum RowFormat(bool alone) const {
    if (way_.half) return alone ? GL_R16F : GL_RGBA16F;
    return alone ? GL_R32F : GL_RGBA32F;
  }

  absl::Status AddDrawn(const Job& job, FanPixels pixels, const Part& part,
                        const Programs& programs, std::vector<float> turns,
                        const GraphicsBuffer& packed) const {
    const Functions& gl = context_->gl();
    const bool alone = pixels == FanPixels::kAlone;
    const int width = static_cast<int>(WidthOf(job)), count = static_cast<int>(part.count);
    const Texture rows(gl, kRowsUnit, RowFormat(alone), width, count, GL_LINEAR, nullptr, &packed);
    const int lines = (count + kTextureViews - 1) / kTextureViews;
    turns.resize(2 * static_cast<size_t>(lines) * kTextureViews);
    const Texture views(gl, kViewsUnit, GL_RG32F, kTextureViews, lines, GL_NEAREST, turns.data());
    programs.sum.Set("rows", kRowsUnit);
    programs.sum.Set("views", kViewsUnit);
    programs.sum.Set("per_texel", 1.f / static_cast<float>(width), 1.f / static_cast<float>(count));
    const VolumeGrid& grid = job.volume.grid();
    const int nx = alone ? grid.nx : (grid.nx + 1) / 2, ny = alone ? grid.ny : (grid.ny + 1) / 2;
    const GLenum format = alone ? GL_R32F : GL_RGBA32F;
    const Texture target(gl, kTargetUnit, format, nx, ny, GL_NEAREST, nullptr);
    ISO_RETURN_IF_ERROR(way_.squares() ? DrawSquares(job, part, programs.sum, target)
                                       : Draw(target, nx, ny));
    programs.add.Use();
    programs.add.Set("drawn", kTargetUnit);
    programs.add.Set("factor", static_cast<float>(1 / FactorOf(job)));
    DispatchOverImage(job, pixels, part.slice, programs.add);
    return context_->Check("drawing");
  }

  // A square for each view of a quarter where the part is a full scan that four divides, else for
  // each view.
  absl::Status DrawSquares(const Job& job, const Part& part, const Program& program,
                           const Texture& target) const {
    const FanBeamGeometry& g = job.geometry;
    const int views = static_cast<int>(part.count);
    const int quarters = g.FullScan() && views == g.views && views % 4 == 0 ? 4 : 1;
    program.Set("quarters", quarters);
    program.Set("quarter_rows", views / quarters);
    program.Set("backwards", static_cast<int>(g.arc < 0));
    const VolumeGrid& grid = job.volume.grid();
    const FanSquares squares{*context_, program, grid.nx, grid.ny, views / quarters};
    if (way_.form == FanForm::kBlendedSquares) return BlendSquares(squares, target);
    const Texture other(context_->gl(), kOtherTargetUnit, GL_R32F, grid.nx, grid.ny, GL_NEAREST,
                        nullptr);
    return DrawSquaresInTurn(squares, target, other);
  }

  absl::Status Draw(const Texture& target, int nx, int ny) const {
    const Functions& gl = context_->gl();
    GLuint frame = 0;
    gl.GenFramebuffers(1, &frame);
    gl.BindFramebuffer(GL_FRAMEBUFFER, frame);
    gl.FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, target.id(), 0);
    const bool complete = gl.CheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE;
    if (complete) {
      gl.Viewport(0, 0, nx, ny);
      gl.DrawArrays(GL_TRIANGLES, 0, 3);
    }
    gl.BindFramebuffer(GL_FRAMEBUFFER, 0);
    gl.DeleteFramebuffers(1, &frame);
    if (complete) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat(context_->renderer(), " draws to no texture of float32"));
  }

  const std::shared_ptr<Context> context_;
  const Shaders shaders_;
  const Way way_;
  GraphicsScratch packed_, views_;
};

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> Make(ops::Session& session,
                                                              const Way& way) {
  ISO_ASSIGN_OR_RETURN(GlesSession * own, AsGlesSession(session));
  const Context& context = *own->context();
  if (way.form == FanForm::kBlendedSquares) {
    ISO_RETURN_IF_ERROR(context.Needs("GL_EXT_float_blend"));
  }
  const Context::Current current(context);
  Backproject::Shaders shaders;
  ISO_ASSIGN_OR_RETURN(shaders.pack, Program::Compute(context, PackShader()));
  ISO_ASSIGN_OR_RETURN(shaders.alone, Programs::Create(context, FanPixels::kAlone, way));
  if (way.pixels == FanPixels::kByQuarterTurns) {
    ISO_ASSIGN_OR_RETURN(shaders.quarters, Programs::Create(context, way.pixels, way));
  }
  return std::make_unique<Backproject>(*own, shaders, way);
}

}  // namespace

using FanBeamBackprojectOr = absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>>;

FanBeamBackprojectOr NewFanBeamBackprojectCompute(ops::Session& session) {
  return Make(session, {});
}

FanBeamBackprojectOr NewFanBeamBackprojectComputeQuarter(ops::Session& session) {
  return Make(session, {.pixels = FanPixels::kByQuarterTurns});
}

FanBeamBackprojectOr NewFanBeamBackprojectFragment(ops::Session& session) {
  return Make(session, {.form = FanForm::kOnePass});
}

FanBeamBackprojectOr NewFanBeamBackprojectFragmentQuarter(ops::Session& session) {
  return Make(session, {.form = FanForm::kOnePass, .pixels = FanPixels::kByQuarterTurns});
}

FanBeamBackprojectOr NewFanBeamBackprojectHalf(ops::Session& session) {
  return Make(session, {.form = FanForm::kOnePass, .half = true});
}

FanBeamBackprojectOr NewFanBeamBackprojectHalfQuarter(ops::Session& session) {
  return Make(session,
              {.form = FanForm::kOnePass, .pixels = FanPixels::kByQuarterTurns, .half = true});
}

FanBeamBackprojectOr NewFanBeamBackprojectSquares(ops::Session& session) {
  return Make(session, {.form = FanForm::kSquares});
}

FanBeamBackprojectOr NewFanBeamBackprojectBlendedSquares(ops::Session& session) {
  return Make(session, {.form = FanForm::kBlendedSquares});
}

int64_t FanBeamBackprojectBytes(const ops::Device&, const ops::Extents& extents) {
  const Shape3& stack = extents.stack;
  return stack.slow * (stack.fast + 2 * kFanMargin + 2) * kFloat;
}

}  // namespace isocenter::gles
