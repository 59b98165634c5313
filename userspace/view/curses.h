#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "view/keys.h"
#include "view/line.h"

namespace memscope::view {

// The only place that knows ncurses. It draws into memory, never to the terminal: the terminal may not read, and
// ncurses would wait for it. Terminal modes are not its affair either.
class Curses {
  public:
    // `in`: where keys come from. The type of the terminal has been checked (terminfo.h).
    static Result<std::unique_ptr<Curses>> open(int in);
    Curses(const Curses&) = delete;
    Curses& operator=(const Curses&) = delete;
    ~Curses();

    bool colour() const { return colour_; }
    void resize(std::size_t width, std::size_t height);
    void repaint();
    std::string draw(const std::vector<Line>& lines);  // the bytes that change the screen to these lines
    std::string leave();                               // the bytes that give the screen back
    std::optional<Key> read_key();                     // does not wait, but for the rest of an escape sequence

  private:
    Curses() = default;
    struct Handles;
    std::string take_output();

    std::unique_ptr<Handles> handles_;
    bool colour_ = false;
};

}  // namespace memscope::view
