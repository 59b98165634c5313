#include "view/terminfo.h"

#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <langinfo.h>

#include "base/files.h"

// Included last, because it defines short words as macros.
#define NCURSES_NOMACROS 1
#include <curses.h>
#include <term.h>

namespace memscope::view {
namespace {

std::string capability(const char* name) {
    const char* value = ::tigetstr(name);
    // tigetstr() returns -1 as a pointer if the name is not a string capability.
    return value && reinterpret_cast<std::intptr_t>(value) != -1 ? value : "";
}

bool describe(const char* type, int fd) {
    int found = 0;
    return ::setupterm(type, fd, &found) == OK;
}

// Uses the terminal descriptions that are packaged with the program. Needed on systems that have none in the
// directories that Debian's ncurses searches.
void use_bundled_descriptions() {
    std::error_code unknown;
    const fs::path program = fs::read_symlink(SysRoot{}.proc / "self/exe", unknown);
    if (unknown) return;
    const fs::path bundled = program.parent_path().parent_path() / "share/memscope/terminfo";
    ::setenv("TERMINFO_DIRS", bundled.c_str(), 1);  // ncurses has no other interface for this
}

}  // namespace

Status check_terminal_type(const char* type, int fd) {
    if (!type || !*type) return plain_error("TERM is not set");
    const std::string name = "terminal type '" + std::string(type) + "'";
    if (!describe(type, fd)) {
        use_bundled_descriptions();
        if (!describe(type, fd)) return plain_error(name + " is not known");
    }
    const bool able = !capability("cup").empty() && !capability("clear").empty();
    ::del_curterm(cur_term);
    if (!able) return plain_error(name + " cannot move its cursor");
    return Done{};
}

Status use_utf8() {
    for (const char* name : {"", "C.UTF-8", "en_US.UTF-8"})
        if (std::setlocale(LC_CTYPE, name) && std::string_view(::nl_langinfo(CODESET)) == "UTF-8") return Done{};
    return plain_error("no UTF-8 locale");
}

std::string farewell_sequence() {
    return capability("sgr0") + capability("rmkx") + capability("cnorm") + capability("rmcup");
}

}  // namespace memscope::view
