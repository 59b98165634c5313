#include "view/curses.h"

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "outputs/text/text_layout.h"

// Included last, because its macros (move, clear, timeout) would replace names in other headers.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>

namespace memscope::view {
namespace {

constexpr int kEscapeMs = 25;  // an escape character without another byte within this time is the Esc key

// ncurses installs handlers for signals without one. The program reads its signals from a signalfd, and on SIGWINCH
// ncurses would read the size from the wrong descriptor.
class KeepSignals {
  public:
    KeepSignals() {
        for (std::size_t i = 0; i < std::size(kNumbers); ++i) ::sigaction(kNumbers[i], nullptr, &before_[i]);
    }
    KeepSignals(const KeepSignals&) = delete;
    KeepSignals& operator=(const KeepSignals&) = delete;
    ~KeepSignals() {
        for (std::size_t i = 0; i < std::size(kNumbers); ++i) ::sigaction(kNumbers[i], &before_[i], nullptr);
    }

  private:
    static constexpr int kNumbers[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
    struct sigaction before_[std::size(kNumbers)]{};
};

std::wstring wide(const std::string& text) {
    std::wstring out;
    std::mbstate_t state{};
    for (std::size_t at = 0; at < text.size();) {
        wchar_t c = 0;
        const std::size_t n = std::mbrtowc(&c, text.data() + at, text.size() - at, &state);
        const bool valid = n > 0 && n <= text.size() - at;
        if (!valid) state = {};
        // ncurses would replace characters for which the C library has no width.
        out += valid && ::wcwidth(c) >= 0 ? c : L'\uFFFD';
        at += valid ? n : 1;
    }
    return out;
}

constexpr short kColours[] = {COLOR_GREEN, COLOR_YELLOW, COLOR_RED, COLOR_CYAN, COLOR_MAGENTA, COLOR_BLUE};

attr_t attributes(Style style) {
    switch (style) {
        case Style::bold:
            return A_BOLD;
        case Style::dim:
        case Style::other:
            return A_DIM;
        case Style::bad:
            return A_BOLD;
        default:
            return A_NORMAL;
    }
}

short pair_of(Style style) {
    switch (style) {
        case Style::good:
            return 1;
        case Style::warn:
        case Style::kernel:
            return 2;
        case Style::bad:
            return 3;
        case Style::anon:
            return 4;
        case Style::shmem:
            return 5;
        case Style::file:
            return 6;
        default:
            return 0;
    }
}

std::optional<Key::Code> named_key(wint_t c) {
    switch (c) {
        case KEY_UP:
            return Key::Code::up;
        case KEY_DOWN:
            return Key::Code::down;
        case KEY_LEFT:
            return Key::Code::left;
        case KEY_RIGHT:
            return Key::Code::right;
        case KEY_PPAGE:
            return Key::Code::page_up;
        case KEY_NPAGE:
            return Key::Code::page_down;
        case KEY_HOME:
            return Key::Code::home;
        case KEY_END:
            return Key::Code::end;
        case KEY_ENTER:
            return Key::Code::enter;
        case KEY_BTAB:
            return Key::Code::back_tab;
        case KEY_BACKSPACE:
            return Key::Code::backspace;
        default:
            return std::nullopt;
    }
}

Key control_key(wint_t c) {
    switch (c) {
        case '\r':
        case '\n':
            return {Key::Code::enter};
        case '\t':
            return {Key::Code::tab};
        case 0x08:
        case 0x7F:
            return {Key::Code::backspace};
        case 0x1B:
            return {Key::Code::escape};
        case 0x0C:
            return {Key::Code::repaint};
        case 0x1A:
            return {Key::Code::suspend};
        default:
            return {};
    }
}

}  // namespace

struct Curses::Handles {
    int memory = -1;  // owned by `out`
    FILE* out = nullptr;
    FILE* in = nullptr;
    SCREEN* screen = nullptr;
    WINDOW* keys = nullptr;  // a pad, because reading keys from a window would refresh the window
    std::size_t width = 0;
};

Result<std::unique_ptr<Curses>> Curses::open(int in) {
    std::unique_ptr<Curses> curses(new Curses);
    curses->handles_ = std::make_unique<Handles>();
    Handles& h = *curses->handles_;
    Fd memory(::memfd_create("memscope-screen", MFD_CLOEXEC));
    Fd input(::fcntl(in, F_DUPFD_CLOEXEC, 0));
    if (!memory || !input) return system_error(errno, "open the terminal");
    h.memory = memory.release();
    h.out = ::fdopen(h.memory, "w");
    h.in = ::fdopen(input.release(), "r");
    const KeepSignals keep;
    h.screen = ::newterm(nullptr, h.out, h.in);
    if (!h.screen) return plain_error("ncurses cannot use this terminal");
    h.keys = ::newpad(1, 1);
    ::keypad(h.keys, TRUE);
    ::nodelay(h.keys, TRUE);
    ::set_escdelay(kEscapeMs);
    ::curs_set(0);
    ::noecho();
    const char* no_color = std::getenv("NO_COLOR");
    curses->colour_ = !(no_color && *no_color) && ::has_colors() && ::start_color() == OK;
    if (curses->colour_) {
        ::use_default_colors();
        for (short i = 0; i < static_cast<short>(std::size(kColours)); ++i)
            ::init_pair(static_cast<short>(i + 1), kColours[i], -1);
    }
    return curses;
}

Curses::~Curses() {
    Handles& h = *handles_;
    if (h.keys) ::delwin(h.keys);
    if (h.screen) ::delscreen(h.screen);
    if (h.out) (void)std::fclose(h.out);
    if (h.in) (void)std::fclose(h.in);
}

void Curses::resize(std::size_t width, std::size_t height) {
    if (static_cast<int>(height) == ::getmaxy(stdscr) && static_cast<int>(width) == ::getmaxx(stdscr)) return;
    ::resize_term(static_cast<int>(height), static_cast<int>(width));
    ::clearok(::curscr, TRUE);
}

void Curses::repaint() { ::clearok(::curscr, TRUE); }

std::string Curses::draw(const std::vector<Line>& lines) {
    const auto width = static_cast<std::size_t>(std::max(::getmaxx(stdscr), 0));
    ::werase(stdscr);
    for (std::size_t y = 0; y < lines.size(); ++y) {
        std::size_t x = 0;
        const auto put = [&](const std::string& text, Style style) {
            attr_t look = lines[y].selected ? A_REVERSE : attributes(style);
            ::wattr_set(stdscr, look, colour_ && !lines[y].selected ? pair_of(style) : short{0}, nullptr);
            // Each span is drawn at its own column, so that it starts at the right column even if the terminal and
            // display_width() disagree about the width of an earlier character.
            ::mvwaddwstr(stdscr, static_cast<int>(y), static_cast<int>(x), wide(text).c_str());
            x += display_width(text);
        };
        if (lines[y].selected) put(std::string(width, ' '), Style::plain);
        x = 0;
        for (const Span& span : lines[y].spans) put(span.text, span.style);
    }
    ::wnoutrefresh(stdscr);
    ::doupdate();
    return take_output();
}

std::string Curses::leave() {
    ::endwin();
    return take_output();
}

std::string Curses::take_output() {
    (void)std::fflush(handles_->out);
    std::string bytes;
    const auto size = ::lseek(handles_->memory, 0, SEEK_CUR);
    if (size > 0) bytes.resize(static_cast<std::size_t>(size));
    const auto got = ::pread(handles_->memory, bytes.data(), bytes.size(), 0);
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    (void)::lseek(handles_->memory, 0, SEEK_SET);
    return bytes;
}

std::optional<Key> Curses::read_key() {
    wint_t c = 0;
    const int kind = ::wget_wch(handles_->keys, &c);
    if (kind == ERR) return std::nullopt;
    if (kind == KEY_CODE_YES) {
        const auto named = named_key(c);
        return Key{named.value_or(Key::Code::unknown)};
    }
    if (c < 0x20 || c == 0x7F) return control_key(c);
    char bytes[MB_LEN_MAX];
    std::mbstate_t state{};
    const std::size_t n = std::wcrtomb(bytes, static_cast<wchar_t>(c), &state);
    if (n == static_cast<std::size_t>(-1)) return Key{};
    return Key{Key::Code::character, std::string(bytes, n)};
}

}  // namespace memscope::view
