#include "kernels/gles/fan_beam_squares.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/gles/fan_beam_shaders.h"

namespace isocenter::gles {
namespace {

// Draws to a texture while it lives.
class Frame {
 public:
  Frame(const Functions& gl, const Texture& target) : gl_(gl) {
    gl.GenFramebuffers(1, &frame_);
    Bind();
    gl.FramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, target.id(), 0);
  }
  ~Frame() {
    gl_.BindFramebuffer(GL_FRAMEBUFFER, 0);
    gl_.DeleteFramebuffers(1, &frame_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  void Bind() const { gl_.BindFramebuffer(GL_FRAMEBUFFER, frame_); }
  absl::Status Clear(const FanSquares& squares) const {
    Bind();
    if (gl_.CheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE) {
      return absl::InternalError(
          absl::StrCat(squares.context.renderer(), " draws to no texture of float32"));
    }
    constexpr std::array<float, 4> kZero = {};
    gl_.Viewport(0, 0, squares.nx, squares.ny);
    gl_.ClearBufferfv(GL_COLOR, 0, kZero.data());
    return absl::OkStatus();
  }

 private:
  const Functions& gl_;
  GLuint frame_ = 0;
};

void SetSquares(const FanSquares& squares) {
  squares.program.Set("extent", static_cast<float>(squares.nx), static_cast<float>(squares.ny));
  squares.program.Set("first_square", 0);
}

}  // namespace

absl::Status BlendSquares(const FanSquares& squares, const Texture& target) {
  const Functions& gl = squares.context.gl();
  const Frame frame(gl, target);
  ISO_RETURN_IF_ERROR(frame.Clear(squares));
  SetSquares(squares);
  gl.Enable(GL_BLEND);
  gl.BlendFunc(GL_ONE, GL_ONE);
  gl.DrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, squares.count);
  gl.Disable(GL_BLEND);
  return squares.context.Check("blending");
}

absl::Status DrawSquaresInTurn(const FanSquares& squares, const Texture& target,
                               const Texture& other) {
  const Functions& gl = squares.context.gl();
  const Frame to_target(gl, target), to_other(gl, other);
  ISO_RETURN_IF_ERROR(to_target.Clear(squares));
  ISO_RETURN_IF_ERROR(to_other.Clear(squares));
  SetSquares(squares);
  for (int square = 0; square < squares.count; ++square) {
    const bool ends_in_target = (squares.count - square) % 2 == 1;
    (ends_in_target ? to_target : to_other).Bind();
    squares.program.Set("before", ends_in_target ? kOtherTargetUnit : kTargetUnit);
    squares.program.Set("first_square", square);
    gl.DrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  }
  return squares.context.Check("drawing squares");
}

}  // namespace isocenter::gles
