#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "view/keys.h"
#include "view/line.h"

namespace memscope::view {

// The only user of ncurses. ncurses draws into memory, not to the terminal, because it would block on a terminal that
// does not read. It does not set terminal modes either.
class Curses {
  public:
    // `in`: descriptor for keys. The caller must have checked the type of the terminal (terminfo.h).
    static Result<std::unique_ptr<Curses>> open(int in);
    Curses(const Curses&) = delete;
    Curses& operator=(const Curses&) = delete;
    ~Curses();

    bool colour() const { return colour_; }
    void resize(std::size_t width, std::size_t height);
    void repaint();
    std::string draw(const std::vector<Line>& lines);  // the bytes that change the screen to these lines
    std::string leave();                               // the bytes that restore the screen
    std::optional<Key> read_key();                     // waits only for the rest of an escape sequence

  private:
    Curses() = default;
    struct Handles;
    std::string take_output();

    std::unique_ptr<Handles> handles_;
    bool colour_ = false;
};

}  // namespace memscope::view
