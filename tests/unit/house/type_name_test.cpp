// Each name has one type. All types are in one flat namespace, and the linker reports no error if two files define
// different types of one name. The linker then uses the constructor or destructor of one type for both types, and the
// program crashes at an unrelated place.
#include <algorithm>
#include <cctype>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string_view>

#include "source_files.h"

namespace type_name_test {

using testing::ElementsAre;
using testing::IsEmpty;

struct Defined {
    std::string name;  // with its namespaces, without those that have no name
    bool anonymous = false;
    bool operator==(const Defined&) const = default;
};

bool is_part_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The end of a comment, a line for the preprocessor or a literal that begins at `at`. `at` itself if none begins there.
std::size_t end_of_skipped(std::string_view text, std::size_t at) {
    const auto after = [&](std::string_view mark, std::size_t from) {
        const std::size_t found = text.find(mark, from);
        return found == std::string_view::npos ? text.size() : found + mark.size();
    };
    const auto until = [&](char last, std::size_t from) {  // a character behind a backslash does not end it
        while (from < text.size() && text[from] != last) from += text[from] == '\\' ? 2 : 1;
        return std::min(text.size(), from);
    };
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("//")) return std::min(text.size(), text.find('\n', at));
    if (rest.starts_with("/*")) return after("*/", at + 2);
    if (rest.starts_with("R\"")) {
        const std::string_view delimiter = rest.substr(2, rest.find('(') - 2);
        return after(")" + std::string(delimiter) + "\"", at);
    }
    if (rest.starts_with('"') || rest.starts_with('\'')) return std::min(text.size(), until(rest[0], at + 1) + 1);
    const std::size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    const bool first_of_line = text.substr(line, at - line).find_first_not_of(" \t") == std::string_view::npos;
    return rest.starts_with('#') && first_of_line ? until('\n', at) : at;
}

// Words and punctuation, one string each. Literals become "", comments and lines for the preprocessor nothing.
std::vector<std::string> tokens_of(std::string_view text) {
    std::vector<std::string> tokens;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        if (std::isspace(static_cast<unsigned char>(text[at]))) {
            ++at;
        } else if (at = end_of_skipped(text, begin); at > begin) {
            if (text[begin] != '/' && text[begin] != '#') tokens.emplace_back("\"\"");
        } else if (is_part_of_word(text[at])) {
            const bool number = std::isdigit(static_cast<unsigned char>(text[at]));
            while (at < text.size() && (is_part_of_word(text[at]) || (number && (text[at] == '.' || text[at] == '\''))))
                ++at;
            tokens.emplace_back(text.substr(begin, at - begin));
        } else {
            at += text.substr(at).starts_with("::") ? 2 : 1;
            tokens.emplace_back(text.substr(begin, at - begin));
        }
    }
    return tokens;
}

using Words = std::vector<std::string>;

bool is_word(const std::string& token) { return std::isalpha(static_cast<unsigned char>(token[0])) || token[0] == '_'; }

// The words of a declaration after `template <...>`.
Words without_template(const Words& words) {
    std::size_t at = 0;
    while (at < words.size() && words[at] == "template") {
        int depth = 0;
        for (++at; at < words.size(); ++at) {
            depth += words[at] == "<" ? 1 : words[at] == ">" ? -1 : 0;
            if (depth == 0) break;
        }
        ++at;
    }
    return {words.begin() + static_cast<std::ptrdiff_t>(std::min(at, words.size())), words.end()};
}

// The name of the type that `words` and a brace behind them define, "" if they define something else.
std::string type_name(const Words& all) {
    const Words words = without_template(all);
    static const std::set<std::string> kinds{"struct", "class", "union", "enum"};
    if (words.empty() || !kinds.contains(words[0])) return "";
    std::size_t at = 1;
    for (int brackets = 0; at < words.size(); ++at) {  // `enum class`, [[attributes]]
        brackets += words[at] == "[" ? 1 : words[at] == "]" ? -1 : 0;
        if (brackets == 0 && is_word(words[at]) && !kinds.contains(words[at])) break;
    }
    if (at >= words.size()) return "";  // a type without a name
    const Words rest(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
    // A specialization, a member of another type and a function that returns a struct are no new name.
    const bool plain = rest.empty() || rest[0] == ":" || rest[0] == "final";
    return plain ? words[at] : "";
}

std::vector<Defined> types_in(const std::string& text) {
    struct Scope {
        bool holds_types;  // a namespace; what is inside of types and functions has a scope of its own
        std::string prefix;
        bool anonymous;
    };
    std::vector<Scope> scopes{{true, "", false}};
    std::vector<Defined> types;
    Words words;
    for (const std::string& token : tokens_of(text)) {
        if (token == "{") {
            const Scope outer = scopes.back();
            Scope inner{false, outer.prefix, outer.anonymous};
            const bool space =
                !words.empty() && (words[0] == "namespace" || words[0] == "inline" || words[0] == "extern") &&
                std::none_of(words.begin(), words.end(), [](const auto& w) { return w == "(" || w == "="; });
            if (outer.holds_types && space) {
                inner.holds_types = true;
                inner.anonymous |= words.back() == "namespace";
                for (const std::string& word : words)
                    if (is_word(word) && word != "namespace" && word != "inline" && word != "extern")
                        inner.prefix += word + "::";
            } else if (const std::string name = type_name(words); outer.holds_types && !name.empty()) {
                types.push_back({outer.prefix + name, outer.anonymous});
            }
            scopes.push_back(inner);
            words.clear();
        } else if (token == "}") {
            if (scopes.size() > 1) scopes.pop_back();
            words.clear();
        } else if (token == ";") {
            words.clear();
        } else {
            words.push_back(token);
        }
    }
    return types;
}

using TypesByFile = std::map<std::string, std::vector<Defined>>;

// Names that two files define, unless each has its own in an anonymous namespace.
std::vector<std::string> clashes(const TypesByFile& files) {
    std::map<std::string, std::set<std::string>> definers;
    std::set<std::string> visible;
    for (const auto& [file, types] : files)
        for (const Defined& type : types) {
            definers[type.name].insert(file);
            if (!type.anonymous) visible.insert(type.name);
        }
    std::vector<std::string> found;
    for (const auto& [name, where] : definers) {
        if (where.size() < 2 || !visible.contains(name)) continue;
        std::string text = name + " in";
        for (const std::string& file : where) text += " " + file;
        found.push_back(text);
    }
    return found;
}

TypesByFile types_below(std::initializer_list<fs::path> folders) {
    TypesByFile types;
    for (const fs::path& folder : folders)
        for (const fs::path& file : source_files(folder))
            types[fs::relative(file, MEMSCOPE_SOURCE_DIR)] = types_in(content_of(file));
    return types;
}

TEST(TypeNames, AreDefinedOnceInTheProgramAndInEachTestProgram) {
    const TypesByFile shared = types_below({"userspace", "include", "tests/support"});
    std::size_t found = 0;
    for (const auto& [file, types] : shared) found += types.size();
    EXPECT_GT(found, 100U) << "the reader of these files is broken";
    EXPECT_THAT(clashes(shared), IsEmpty());

    std::vector<fs::path> programs{"tests/kernel"};
    for (const auto& layer : fs::directory_iterator(fs::path(MEMSCOPE_SOURCE_DIR) / "tests/unit"))
        programs.push_back(fs::relative(layer, MEMSCOPE_SOURCE_DIR));
    EXPECT_GT(programs.size(), 5U);
    for (const fs::path& program : programs) {
        TypesByFile types = types_below({program});
        types.insert(shared.begin(), shared.end());
        EXPECT_THAT(clashes(types), IsEmpty()) << program;
    }
}

TEST(TypeNames, AreReadFromAnyDefinition) {
    const auto found = types_in(R"(
        #define SHAPE struct Macro {
        // struct Comment {
        /* struct Block { */
        struct Forward;
        enum class Forwarded : int;
        namespace memscope {
        struct Plain { struct Inner { int x; }; };
        class [[nodiscard]] Marked final : public Plain { void f() { struct Local {}; } };
        template <class T, auto release = f<T>> struct Generic { T t; };
        template <> struct Generic<int> {};
        enum class Kind : std::uint8_t { a, b };
        union Either { int a; };
        constexpr Plain kTable[] = {{1}, {2}};
        inline const Plain one{"struct Text {"};
        struct Plain make(int x) { return {}; }
        namespace { struct Hidden {}; }
        namespace inner::deep { struct Deep {}; }
        }
        extern "C" { struct ms_record { int x; }; })");
    EXPECT_THAT(found,
                ElementsAre(Defined{"memscope::Plain"}, Defined{"memscope::Marked"}, Defined{"memscope::Generic"},
                            Defined{"memscope::Kind"}, Defined{"memscope::Either"}, Defined{"memscope::Hidden", true},
                            Defined{"memscope::inner::deep::Deep"}, Defined{"ms_record"}));
}

TEST(TypeNames, ClashUnlessBothAreAnonymous) {
    const std::vector<Defined> seen{{"Row"}}, hidden{{"Row", true}};
    EXPECT_THAT(clashes({{"a.h", seen}, {"b.cpp", seen}}), ElementsAre("Row in a.h b.cpp"));
    EXPECT_THAT(clashes({{"a.h", seen}, {"b.cpp", hidden}}), ElementsAre("Row in a.h b.cpp"));
    EXPECT_THAT(clashes({{"a.cpp", hidden}, {"b.cpp", hidden}}), IsEmpty());
    EXPECT_THAT(clashes({{"a.h", {{"Row"}, {"Row"}}}, {"b.h", {{"Other"}}}}), IsEmpty());
}

}  // namespace type_name_test
