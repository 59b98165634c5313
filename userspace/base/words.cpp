#include "base/words.h"

#include <algorithm>
#include <optional>

namespace memscope {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kShellCharacters = "$`|&;<>()*?[";
constexpr std::string_view kShellCharactersAtStart = "~#";
constexpr std::string_view kUseAShell = R"(run it in a shell: sh -c "...")";

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

class Splitter {
  public:
    explicit Splitter(std::string_view line) : rest_(line) {}

    Result<std::vector<std::string>> words() {
        while (!rest_.empty()) {
            const char c = next();
            if (is_one_of(c, kBlanks)) {
                end_word();
            } else if (c == '\'' || c == '"') {
                if (!quoted(c)) return plain_error(std::string("a quote is not closed: ") + c, "close it");
            } else if (c == '\\') {
                if (rest_.empty()) return plain_error("ends with a backslash", "remove it");
                add(next());
            } else if (is_one_of(c, kShellCharacters) || (!word_ && is_one_of(c, kShellCharactersAtStart))) {
                return plain_error(std::string("needs a shell for ") + c, std::string(kUseAShell));
            } else {
                add(c);
            }
        }
        end_word();
        if (words_.empty()) return plain_error("names no command", "name a program and its arguments");
        return std::move(words_);
    }

  private:
    char next() {
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }
    void add(char c) { word_ = word_.value_or("") + c; }
    void end_word() {
        if (word_) words_.push_back(*std::move(word_));
        word_.reset();
    }
    bool quoted(char quote) {
        if (!word_) word_.emplace();  // '' is an empty word
        while (!rest_.empty()) {
            const char c = next();
            if (c == quote) return true;
            const bool escapes =
                quote == '"' && c == '\\' && !rest_.empty() && (rest_.front() == '"' || rest_.front() == '\\');
            add(escapes ? next() : c);
        }
        return false;
    }

    std::string_view rest_;
    std::optional<std::string> word_{};  // the current word
    std::vector<std::string> words_{};
};

// True for "-c", "-ec": the next word is code for an interpreter.
bool is_code_option(const std::string& word) {
    return word.size() >= 2 && word.front() == '-' && word[1] != '-' && word.ends_with('c');
}

}  // namespace

Result<std::vector<std::string>> split_words(std::string_view line) {
    if (line.find('\0') != std::string_view::npos) return plain_error("holds a NUL character", "remove it");
    auto words = Splitter(line).words();
    if (!words) return words;
    // In quotes a $ is an ordinary character. But a user who writes the name of a memscope variable expects its value.
    // The words from an option such as -c on are not checked, because they are code for an interpreter.
    const auto code_option = std::ranges::find_if(*words, is_code_option);
    for (auto word = words->begin(); word != code_option; ++word)
        if (word->find("$MEMSCOPE_") != std::string::npos || word->find("${MEMSCOPE_") != std::string::npos)
            return plain_error("needs a shell for variables", std::string(kUseAShell));
    return words;
}

}  // namespace memscope
