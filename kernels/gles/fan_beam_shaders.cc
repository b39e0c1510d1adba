#include "kernels/gles/fan_beam_shaders.h"

#include "absl/strings/str_cat.h"

namespace isocenter::gles {
namespace {

constexpr char kPack[] = R"(
layout(std430, binding = 1) readonly buffer Rows { float rows[]; };
layout(std430, binding = 3) writeonly buffer Packed { float packed_rows[]; };
uniform int rows_begin;
uniform int packed_begin;
uniform int view_count;
uniform int view_stride;
uniform int channels;
uniform int components;
uniform int component;
uniform float factor;
uniform bool half_rows;
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  int width = channels + 4;
  if (at.x >= width || at.y >= view_count) return;
  int channel = at.x - 2;
  bool inside = channel >= 0 && channel < channels;
  int to = packed_begin + (at.y * width + at.x) * components + component;
  float value = inside ? factor * rows[rows_begin + at.y * view_stride + channel] : 0.0;
  // To the nearest; drivers that make textures of floats may cut digits off.
  packed_rows[to] = half_rows ? unpackHalf2x16(packHalf2x16(vec2(value, 0.0))).x : value;
}
)";

// VALUE is what one sample has: of one view, or of four.
constexpr char kAlone[] = "#define VALUE float\n";
constexpr char kQuarters[] = "#define VALUE vec4\n";

constexpr char kRowsInMemory[] = R"(
layout(std430, binding = 1) readonly buffer Rows { VALUE rows[]; };
layout(std430, binding = 2) readonly buffer Views { vec2 views[]; };
uniform int width;
uniform int views_begin;
vec2 View(int v) { return views[views_begin + v]; }
VALUE At(int v, float position) {
  float whole = floor(position);
  int left = v * width + clamp(int(whole), 0, width - 2);
  VALUE low = rows[left];
  return low + (position - whole) * (rows[left + 1] - low);
}
)";

constexpr char kRowsInTexture[] = R"(
precision highp sampler2D;
uniform sampler2D rows;
uniform sampler2D views;
uniform vec2 per_texel;
vec2 View(int v) { return texelFetch(views, ivec2(v & 1023, v >> 10), 0).rg; }
VALUE At(int v, float position) {
  vec4 texel = textureLod(rows, vec2(position + 0.5, float(v) + 0.5) * per_texel, 0.0);
  return VALUE(texel);
}
)";

// A view is cos β and sin β, in units of D for flat detectors.
constexpr char kSum[] = R"(
uniform int view_count;
uniform float distance_to_axis;
uniform float center;
uniform float per_radian;
uniform float nearest;
uniform float steepest;
uniform bool flat_detector;
uniform bool halved;
uniform float coefficients[9];
uniform vec2 origin;
uniform vec2 along;
uniform vec2 across;

float Position(float ratio) {
  if (flat_detector) return center + ratio * per_radian;
  // The tangent of half the angle: drivers' own arctangents are off by 1e-4.
  if (halved) ratio /= 1.0 + sqrt(1.0 + ratio * ratio);
  float square = ratio * ratio, sum = coefficients[8];
  for (int i = 7; i >= 0; --i) sum = sum * square + coefficients[i];
  return center + ratio * sum;
}

// Where a row has (x', y'), and what it counts: 0 where nothing is seen.
vec2 Seen(float x, float y) {
  float u = distance_to_axis - y, inverse = 1.0 / u, ratio = x * inverse;
  float weight = flat_detector ? inverse * inverse : 1.0 / (x * x + u * u);
  bool seen = u > nearest && abs(ratio) < steepest;
  return seen ? vec2(Position(ratio), weight) : vec2(0.0);
}

vec2 World(vec2 pixel) { return origin + pixel.x * along + pixel.y * across; }
)";

constexpr char kSumAlone[] = R"(
float Sum(vec2 world) {
  float sum = 0.0;
  for (int v = 0; v < view_count; ++v) {
    vec2 turn = View(v);
    vec2 seen = Seen(turn.x * world.x + turn.y * world.y, turn.x * world.y - turn.y * world.x);
    sum += seen.y * At(v, seen.x);
  }
  return sum;
}
)";

// Pixel m in view v + k quarters is where place k - m is in view v.
constexpr char kSumQuarters[] = R"(
vec4 Sum(vec2 world) {
  vec4 sums = vec4(0.0);
  for (int v = 0; v < view_count; ++v) {
    vec2 turn = View(v);
    float x = turn.x * world.x + turn.y * world.y, y = turn.x * world.y - turn.y * world.x;
    vec2 a = Seen(x, y), b = Seen(y, -x), c = Seen(-x, -y), d = Seen(-y, x);
    sums += a.y * At(v, a.x) + b.y * At(v, b.x).yzwx + c.y * At(v, c.x).zwxy
          + d.y * At(v, d.x).wxyz;
  }
  return sums;
}
)";

constexpr char kImage[] = R"(
layout(std430, binding = 0) buffer Image { float image[]; };
uniform int image_begin;
uniform int nx;
uniform int ny;
)";

constexpr char kAddAlone[] = R"(
void Add(ivec2 at, float sum) { image[image_begin + at.y * nx + at.x] += sum; }
bool Mine(ivec2 at) { return at.x < nx && at.y < ny; }
)";

// Of the first quarter of a square; the middle of an odd one turns on itself.
constexpr char kAddQuarters[] = R"(
void Add(ivec2 at, vec4 sums) {
  int begin = image_begin, last = nx - 1;
  image[begin + at.y * nx + at.x] += sums.x;
  if (2 * at.x == last && 2 * at.y == last) return;
  image[begin + at.x * nx + last - at.y] += sums.y;
  image[begin + (last - at.y) * nx + last - at.x] += sums.z;
  image[begin + (last - at.x) * nx + at.y] += sums.w;
}
bool Mine(ivec2 at) {
  bool middle = 2 * at.x == nx - 1 && 2 * at.y == nx - 1;
  return at.x < (nx + 1) / 2 && (at.y < nx / 2 || middle);
}
)";

constexpr char kCompute[] = R"(
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  if (Mine(at)) Add(at, Sum(World(vec2(at))));
}
)";

constexpr char kFragment[] = R"(
out vec4 color;
void main() { color = vec4(Sum(World(floor(gl_FragCoord.xy)))); }
)";

constexpr char kAddDrawn[] = R"(
precision highp sampler2D;
uniform sampler2D drawn;
uniform float factor;
void main() {
  ivec2 at = ivec2(gl_GlobalInvocationID.xy);
  if (Mine(at)) Add(at, factor * VALUE(texelFetch(drawn, at, 0)));
}
)";

// A square is the image, one for each view of the first quarter; its corners are turned, and what
// lies between them is interpolated.
constexpr char kSquareVertices[] = R"(
uniform int first_square;
uniform vec2 extent;
out vec2 turned;
flat out int view;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 world = World(corner * extent - 0.5);
  view = first_square + gl_InstanceID;
  vec2 turn = View(view);
  turned = vec2(turn.x * world.x + turn.y * world.y, turn.x * world.y - turn.y * world.x);
  gl_Position = vec4(2.0 * corner - 1.0, 0.0, 1.0);
}
)";

// Each quarter turn of the source takes (x, y) to (y, -x), `quarter_rows` further in the texture.
constexpr char kSquare[] = R"(
uniform int quarters;
uniform int quarter_rows;
uniform bool backwards;
in vec2 turned;
flat in int view;
out vec4 color;
float Square() {
  vec2 place = turned;
  float sum = 0.0;
  for (int k = 0; k < quarters; ++k) {
    vec2 seen = Seen(place.x, place.y);
    int on = backwards ? (4 - k) & 3 : k;
    sum += seen.y * At(view + on * quarter_rows, seen.x);
    place = vec2(place.y, -place.x);
  }
  return sum;
}
)";

constexpr char kBlendSquare[] = "void main() { color = vec4(Square()); }\n";

constexpr char kAddSquare[] = R"(
uniform sampler2D before;
void main() {
  color = vec4(texelFetch(before, ivec2(gl_FragCoord.xy), 0).r + Square());
}
)";

bool Alone(FanPixels pixels) { return pixels == FanPixels::kAlone; }
const char* Value(FanPixels pixels) { return Alone(pixels) ? kAlone : kQuarters; }
const char* Sum(FanPixels pixels) { return Alone(pixels) ? kSumAlone : kSumQuarters; }
const char* Add(FanPixels pixels) { return Alone(pixels) ? kAddAlone : kAddQuarters; }

}  // namespace

std::string PackShader() { return kPack; }

std::string ComputeShader(FanPixels pixels) {
  return absl::StrCat(Value(pixels), kRowsInMemory, kSum, Sum(pixels), kImage, Add(pixels),
                      kCompute);
}

std::string FragmentShader(FanPixels pixels) {
  return absl::StrCat(Value(pixels), kRowsInTexture, kSum, Sum(pixels), kFragment);
}

std::string SquareVertexShader() {
  return absl::StrCat(kAlone, kRowsInTexture, kSum, kSquareVertices);
}

std::string SquareFragmentShader(bool blended) {
  return absl::StrCat(kAlone, kRowsInTexture, kSum, kSquare, blended ? kBlendSquare : kAddSquare);
}

std::string AddDrawnShader(FanPixels pixels) {
  return absl::StrCat(Value(pixels), kImage, Add(pixels), kAddDrawn);
}

}  // namespace isocenter::gles
