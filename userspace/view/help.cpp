#include "view/help.h"

#include "outputs/text_layout.h"

namespace memscope::view {
namespace {

struct Entry {
    const char* key;
    const char* what;  // no key: a line of its own
};

constexpr Entry kEntries[] = {
    {"q", "quit; Ctrl-C too"},
    {"↑ ↓  k j", "move; PgUp PgDn Home End by more"},
    {"⏎  space", "fold or unfold the role; ← folds, → unfolds"},
    {"s", "sort by size, growth, name, pid"},
    {"/", "show what has a text in its name, command or role; Esc clears"},
    {"Tab  n p", "next and previous target"},
    {"g", "what grew, by call site: resident, mapped, back; Esc closes"},
    {"r", "ranks apart or together"},
    {"x", "a death was seen: take it off the first lines"},
    {"?  h", "this help"},
    {"", ""},
    {"█ ▓ ▒", "held by it, by others below the same limit, reclaimable"},
    {"OWN", "anonymous memory it holds for itself: what leaks"},
    {"COW", "pages it still shares with the process it was forked from, counted there"},
    {"FILE SHMEM", "mapped files, shared memory: shared pages stand in each process"},
    {"RSS", "the sum of these: all that is mapped and resident"},
    {"OWN/s", "change of OWN per second over the last 10 s"},
    {"FLT/s", "page faults per second"},
    {"×8 -16", "processes of the role, and how many have ended"},
    {"TREND", "OWN of the role over the last 120 ticks"},
    {"ms  MiB", "what the last tick took, and memscope's own memory"},
};

}  // namespace

std::vector<Line> help_lines() {
    std::vector<Line> lines;
    for (const Entry& entry : kEntries)
        lines.push_back(Line{}.add("  ").add(left(entry.key, 11), Style::bold).add(entry.what));
    return lines;
}

}  // namespace memscope::view
