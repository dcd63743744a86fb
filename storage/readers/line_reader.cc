#include "storage/readers/line_reader.h"

#include <cstring>

#include "storage/readers/messages.h"

namespace edo::storage {

Result<bool> LineReader::Next(std::string_view* line) {
  input_->Consume(consume_);
  consume_ = 0;
  size_t searched = 0;
  for (;;) {
    const std::string_view window = input_->window();
    const void* end = window.size() == searched
                          ? nullptr
                          : memchr(window.data() + searched, '\n', window.size() - searched);
    if (end != nullptr) {
      const auto length = static_cast<size_t>(static_cast<const char*>(end) - window.data());
      *line = window.substr(0, length);
      consume_ = length + 1;
      ++number_;
      return true;
    }
    searched = window.size();
    if (searched > kMaxLineBytes) {
      return BadLine(input_->name(), number_ + 1, "the line is longer than 64 MiB");
    }
    EDO_ASSIGN_OR_RETURN(const bool more, input_->More());
    if (more) continue;
    if (searched == 0) return false;
    *line = input_->window();
    consume_ = searched;
    had_line_end_ = false;
    ++number_;
    return true;
  }
}

Result<std::vector<std::string_view>> PeekLines(Input* input, size_t max_lines) {
  constexpr size_t kSampleBytes = size_t{256} << 10;
  size_t wanted = kSampleBytes;
  EDO_ASSIGN_OR_RETURN(std::string_view sample, input->Peek(wanted));
  while (sample.size() >= wanted && wanted < LineReader::kMaxLineBytes &&
         sample.find('\n') == std::string_view::npos) {
    wanted *= 2;
    EDO_ASSIGN_OR_RETURN(sample, input->Peek(wanted));
  }
  const bool cut = sample.size() >= wanted;
  std::vector<std::string_view> lines;
  while (!sample.empty() && lines.size() < max_lines) {
    const size_t end = sample.find('\n');
    if (end == std::string_view::npos && cut && !lines.empty()) break;
    lines.push_back(StripCr(sample.substr(0, end)));
    sample.remove_prefix(end == std::string_view::npos ? sample.size() : end + 1);
  }
  return lines;
}

Status RefuseCrLineEnds(const Input& input) {
  const std::string_view start = input.window();
  const size_t cr = start.find('\r');
  if (cr == std::string_view::npos || cr + 1 >= start.size()) return Status::Ok();
  if (start.find('\n') != std::string_view::npos) return Status::Ok();
  return BadLine(input.name(), 1, "the line ends are CR alone, without LF; convert them to LF");
}

Status SkipByteOrderMark(Input* input) {
  EDO_ASSIGN_OR_RETURN(const std::string_view start, input->Peek(3));
  if (input->offset() == 0 && start.starts_with("\xef\xbb\xbf")) input->Consume(3);
  return Status::Ok();
}

}  // namespace edo::storage
