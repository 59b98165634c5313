#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "view/keys.h"
#include "view/line.h"
#include "view/screen.h"

namespace memscope::view {

// The terminal while the view is on it; what it was before comes back with the destructor, or a crash.
class Terminal {
  public:
    // Error: no terminal, a dumb or unknown one, one that we are in the background of, no UTF-8.
    static Result<std::unique_ptr<Terminal>> open(int in, int out);
    virtual ~Terminal() = default;

    virtual Look look() = 0;  // asks for the size each time
    virtual void draw(const std::vector<Line>& lines) = 0;
    virtual void repaint() = 0;  // the next draw draws everything
    virtual std::optional<Key> read_key() = 0;
    virtual bool hung_up() = 0;
    virtual void suspend() = 0;  // Ctrl-Z; returns when the shell brings us back
    virtual int input_fd() const = 0;
};

}  // namespace memscope::view
