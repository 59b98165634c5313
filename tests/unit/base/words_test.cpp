#include "base/words.h"

#include <gmock/gmock.h>

namespace memscope {
namespace words_test {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> words(std::string_view line) {
    const auto split = split_words(line);
    if (split) return *split;
    ADD_FAILURE() << split.error().message();
    return {};
}
std::string refusal(std::string_view line) {
    const auto split = split_words(line);
    return split ? "accepted" : split.error().message();
}

TEST(Words, AreSeparatedByBlanks) {
    EXPECT_THAT(words("  save-checkpoint\t--now  3 "), ElementsAre("save-checkpoint", "--now", "3"));
    EXPECT_THAT(words("a\nb"), ElementsAre("a", "b"));
}

TEST(Words, QuotesKeepThemTogetherAndAsTheyAre) {
    EXPECT_THAT(words(R"(a 'b c' "d e" f'g 'h"i j")"), ElementsAre("a", "b c", "d e", "fg hi j"));
    EXPECT_THAT(words(R"(a '' "")"), ElementsAre("a", "", ""));
    EXPECT_THAT(words(R"(a '\n$x|' "\n;*")"), ElementsAre("a", R"(\n$x|)", R"(\n;*)"));
    EXPECT_THAT(words(R"(a "say \"hi\" \\ there")"), ElementsAre("a", R"(say "hi" \ there)"));
}

TEST(Words, ABackslashKeepsTheNextCharacter) {
    EXPECT_THAT(words(R"(a\ b \$HOME \\ \'c)"), ElementsAre("a b", "$HOME", R"(\)", "'c"));
}

TEST(Words, ShellSyntaxIsRefusedWithAdvice) {
    for (const auto* line : {"kill -USR1 $MEMSCOPE_PID", "a | b", "a && b", "a; b", "a > f", "a < f", "a `b`",
                             "rm *.pt", "a (b)", "ls ~/x", "a # b", "ls a?", "ls [ab]"})
        EXPECT_THAT(refusal(line), HasSubstr("run it in a shell: sh -c")) << line;
    EXPECT_THAT(words("a b~ c#d"), ElementsAre("a", "b~", "c#d")) << "inside a word they are ordinary characters";
}

TEST(Words, VariablesOfMemscopeAreRefusedOutsideOfAnInterpreter) {
    EXPECT_THAT(refusal(R"(kill -USR1 "$MEMSCOPE_PID")"), HasSubstr("needs a shell for variables"));
    EXPECT_THAT(refusal(R"(kill -USR1 '${MEMSCOPE_PID}')"), HasSubstr("needs a shell for variables"));
    EXPECT_THAT(words(R"(sh -c "kill -USR1 $MEMSCOPE_PID")"), ElementsAre("sh", "-c", "kill -USR1 $MEMSCOPE_PID"));
    EXPECT_THAT(words(R"(bash -ec 'echo $MEMSCOPE_COMM' x)"), ElementsAre("bash", "-ec", "echo $MEMSCOPE_COMM", "x"));
}

TEST(Words, IncompleteCommandsAreRefused) {
    EXPECT_THAT(refusal("a 'b"), HasSubstr("not closed"));
    EXPECT_THAT(refusal("a \"b"), HasSubstr("not closed"));
    EXPECT_THAT(refusal("a \\"), HasSubstr("backslash"));
    EXPECT_THAT(refusal(" \t "), HasSubstr("names no command"));
    EXPECT_THAT(refusal(std::string_view("a\0b", 3)), HasSubstr("NUL"));
}

}  // namespace words_test
}  // namespace memscope
