#include "cli/arguments/shell_words.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace memscope {

std::string shell_word(std::string_view word) {
    std::string shown = printable(word);
    const bool plain = !shown.empty() && std::ranges::all_of(shown, [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("_-./:=@%+,").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (plain) return shown;
    std::string quoted = "'";
    for (const char c : shown) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::string shell_words(std::span<const std::string> words) {
    constexpr std::size_t kMost = 200;
    std::string text;
    for (const std::string& word : words) {
        const std::string shown = shell_word(word);
        if (text.size() + shown.size() > kMost) return text + (text.empty() ? "..." : " ...");
        text += (text.empty() ? "" : " ") + shown;
    }
    return text;
}

}  // namespace memscope
