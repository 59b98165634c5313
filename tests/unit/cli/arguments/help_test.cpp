#include "cli/arguments/help.h"

#include <gmock/gmock.h>
#include <set>

#include "base/text.h"
#include "base/words.h"
#include "unit/cli/arguments/parsed.h"

namespace memscope {
namespace help_test {

using testing::HasSubstr;
using testing::StartsWith;

// The commands in the section "Examples:" of a help text, as words after "memscope". Variables before a command, and
// redirections and commands after it, are for the shell.
std::vector<std::vector<std::string>> examples(std::string_view help) {
    std::vector<std::vector<std::string>> found;
    bool inside = false;
    for_each_line(help, [&](std::string_view line) {
        if (line == "Examples:") inside = true;
        const auto begin = line.rfind(" memscope ");
        if (!inside || begin == std::string_view::npos || line.find('$') != std::string_view::npos) return;
        line = line.substr(begin + 1);
        line = line.substr(0, std::min(line.find(" >"), line.find(" |")));
        const auto words = split_words(line);
        EXPECT_TRUE(words) << line;
        if (words) found.emplace_back(words->begin() + 1, words->end());
    });
    return found;
}

// The commands that the general help lists: "  memscope NAME ...".
std::set<std::string> listed_commands() {
    std::set<std::string> names;
    for_each_line(kHelp, [&](std::string_view line) {
        constexpr std::string_view kBegin = "  memscope ";
        if (!line.starts_with(kBegin)) return;
        const std::string_view word = line.substr(kBegin.size(), line.find(' ', kBegin.size()) - kBegin.size());
        if (!word.empty() && std::ranges::all_of(word, [](char c) { return c >= 'a' && c <= 'z'; }))
            names.emplace(word);
    });
    return names;
}

TEST(CommandHelp, EveryCommandHasHelp) {
    std::set<std::string> names;
    for (const CommandHelp& each : command_helps()) names.emplace(each.name);
    EXPECT_EQ(names, listed_commands());
}

TEST(CommandHelp, IsShownForTheCommand) {
    for (const CommandHelp& each : command_helps()) {
        const std::string name(each.name);
        EXPECT_THAT(parsed<Help>({name, "--help"}).text, StartsWith("memscope " + name + ": "));
        EXPECT_EQ(parsed<Help>({name, "-h"}).text, each.text);
        EXPECT_EQ(parsed<Help>({"help", name}).text, each.text);
    }
    EXPECT_EQ(parsed<Help>({"--help"}).text, kHelp);
    EXPECT_EQ(parsed<Help>({"help", "nothing"}).text, kHelp);
}

TEST(CommandHelp, EveryExampleIsACommandLineOfThisCommand) {
    for (const CommandHelp& each : command_helps()) {
        const auto found = examples(each.text);
        EXPECT_FALSE(found.empty()) << each.name;
        for (const auto& words : found) {
            ASSERT_FALSE(words.empty());
            EXPECT_EQ(words.front(), each.name);
            const auto command = parse(words);
            EXPECT_TRUE(command) << each.name << ": " << (command ? "" : command.error().message());
        }
    }
    const auto general = examples(kHelp);
    EXPECT_GE(general.size(), 5U);
}

TEST(CommandHelp, FitsATerminal) {
    for (const CommandHelp& each : command_helps()) {
        EXPECT_THAT(each.text, HasSubstr("Usage:\n  memscope " + std::string(each.name)));
        for_each_line(each.text, [](std::string_view line) {
            EXPECT_LE(line.size(), 80U) << line;
            EXPECT_FALSE(line.ends_with(' ')) << line;
        });
    }
}

TEST(CommandHelp, NamesEveryOptionOfItsCommand) {
    const std::vector<std::pair<std::string, std::vector<std::string>>> options{
        {"status", {"--target", "--json"}},
        {"growth", {"--target", "--since", "--at", "--stacks", "--top", "--format"}},
        {"heap", {"--target", "--pid", "--again", "--top", "--type", "--format"}},
        {"verdict",
         {"--time", "--value", "--unit", "--gpu", "--interval", "--limit", "--warmup", "--json", "--fail-on"}},
        {"report", {"--target", "--json", "--report-dir", "--record"}},
        {"recordings", {"--remove", "--json", "--record"}},
        {"export", {"--format", "--from", "--to", "--target", "--output", "--record"}},
        {"replay", {"--from", "--speed", "--target", "--record"}},
        {"compare", {"--fail-on", "--format", "--target", "--record"}},
        {"doctor", {"--json"}}};
    for (const auto& [name, wanted] : options)
        for (const std::string& option : wanted)
            EXPECT_THAT(std::string(help_of(name)), HasSubstr("\n  " + option)) << name;
}

}  // namespace help_test
}  // namespace memscope
