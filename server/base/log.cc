#include "server/base/log.h"

#include <array>
#include <memory>

#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/stdout_sinks.h"

// Clang gives the formatter that log.h declares another mangled name than GCC, which has compiled
// libfmt.so.
#if defined(__clang__) && FMT_VERSION >= 90000 && FMT_VERSION < 100000
template void fmt::detail::vformat_to<char>(fmt::detail::buffer<char>&,
                                            fmt::basic_string_view<char>,
                                            fmt::basic_format_args<fmt::buffer_context<char>>,
                                            fmt::detail::locale_ref);
#endif

namespace isocenter {
namespace {

/// The event of a line, on one line.
class EscapedEvent : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& line) override {
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (const char c : message.payload) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 && byte != 0x7f) {
        line.push_back(c);
        continue;
      }
      const std::array escaped = {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      line.append(escaped.data(), escaped.data() + escaped.size());
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedEvent>();
  }
};

}  // namespace

std::unique_ptr<spdlog::formatter> LogFormatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<EscapedEvent>('*').set_pattern("time=%Y-%m-%dT%H:%M:%S.%eZ level=%l %*");
  return formatter;
}

void StartLog(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("isocenterd"));
  spdlog::set_formatter(LogFormatter());
  spdlog::set_level(spdlog::level::from_str(level));
}

}  // namespace isocenter
