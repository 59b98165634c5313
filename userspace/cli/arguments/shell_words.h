#pragma once
#include <span>
#include <string>
#include <string_view>

namespace memscope {

// The word as a user types it in a shell: in quotes if it needs them. Only for messages, because control characters are
// replaced as in other messages.
std::string shell_word(std::string_view word);
// The words of a command with blanks between them, at most about 200 bytes; then "..." takes the place of the rest.
std::string shell_words(std::span<const std::string> words);

}  // namespace memscope
