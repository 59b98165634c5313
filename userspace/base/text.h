#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memscope {

// Names of processes and cgroups can contain any bytes. Only printable() makes them safe to print on a terminal.
std::string valid_utf8(std::string_view bytes);  // every byte that is not UTF-8 becomes U+FFFD
// Like valid_utf8(), but also escapes control characters and misleading characters (\n, \x1b, \u202e ...), so that the
// result is one line without terminal escapes.
std::string printable(std::string_view bytes);

// For messages: at most 60 bytes of user input or of a process name.
std::string shortened(std::string_view text);

std::optional<std::uint64_t> parse_number(std::string_view text);            // decimal, whole text
std::vector<std::string_view> split(std::string_view text, char separator);  // keeps empty parts
std::string_view trimmed(std::string_view text);

// Calls visit(line) for each line without its newline.
template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
    while (!text.empty()) {
        const auto end = text.find('\n');
        visit(text.substr(0, end));
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + 1);
    }
}

}  // namespace memscope
