#pragma once
#include <string>

#include "view/screen.h"

namespace memscope::view {

struct Key {
    enum class Code {
        character,
        up,
        down,
        left,
        right,
        page_up,
        page_down,
        home,
        end,
        enter,
        tab,
        back_tab,
        backspace,
        escape,
        repaint,  // Ctrl-L
        suspend,  // Ctrl-Z
        unknown
    };
    Code code = Code::unknown;
    std::string text{};  // of a character, UTF-8
};

enum class Reaction { none, redraw, repaint, suspend, quit };

// Applies a key to the state. `scene`: the current content of the screen.
Reaction press(State& state, const Key& key, const Snapshot& snapshot, const Scene& scene);

}  // namespace memscope::view
