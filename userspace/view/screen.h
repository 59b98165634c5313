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

// The content of the screen. The tree points into the snapshot that it was built from.
struct Scene {
    Tree tree{};
    std::size_t page = 0;       // rows of the tree that are visible at once
    std::vector<Line> lines{};  // at most `height`, none wider than `width`
};

// A pure function of its arguments. Corrects the state where the snapshot has made it stale: a selected row that is
// gone, a scroll position beyond the end, a note that is too old. `growth` is the growth of the selected target.
Scene render(State& state, const Snapshot& snapshot, const History& history, const Look& look,
             const Growth* growth = nullptr);

}  // namespace memscope::view
