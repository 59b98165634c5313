#pragma once
#include <vector>

#include "model/growth/growth.h"
#include "view/line.h"
#include "view/tree.h"

namespace memscope::view {

struct Look {
    std::size_t width = 80;
    std::size_t height = 24;
    bool colour = true;
};

// What is on the screen. The tree points into the snapshot it was made from.
struct Scene {
    Tree tree{};
    std::size_t page = 0;       // rows of the tree that are visible at once
    std::vector<Line> lines{};  // at most `height`, none wider than `width`
};

// A function of its arguments alone. The state is corrected where the snapshot has overtaken it: a selection that is
// gone, a scroll beyond the end, a note that has stood long enough. `growth` is the selected target's, for its panel.
Scene render(State& state, const Snapshot& snapshot, const History& history, const Look& look,
             const Growth* growth = nullptr);

}  // namespace memscope::view
