#include "view/screen.h"

#include <algorithm>

#include "outputs/text/process_rows.h"
#include "view/panels.h"
#include "view/table.h"

namespace memscope::view {
namespace {

// The number of rows of each part. The most important parts stay longest when the screen shrinks.
struct Layout {
    std::size_t deaths = 0;
    std::size_t unsharing = 0;
    std::size_t curve = 0;
    std::size_t curve_gap = 0;
    std::size_t targets = 0;
    std::size_t targets_gap = 0;
    std::size_t title = 0;
    std::size_t limit = 0;
    std::size_t headroom = 0;
    std::size_t kinds_gap = 0;
    std::size_t kinds_bar = 0;
    std::size_t kinds_legend = 0;
    std::size_t heap_bar = 0;
    std::size_t heap_legend = 0;
    std::size_t gpus = 0;
    std::size_t trouble = 0;
    std::size_t precursors = 0;
    std::size_t verdict = 0;
    std::size_t gap = 0;
    std::size_t header = 0;
    std::size_t page = 0;
    std::size_t note = 0;
    std::size_t timeline = 0;
    std::size_t footer = 0;
};

// What the layout depends on: numbers of items, or of rows.
struct Content {
    std::size_t targets = 0;
    std::size_t gpus = 0;
    std::size_t precursors = 0;
    std::size_t verdict = 0;    // rows of all its sentences
    std::size_t deaths = 0;     // rows
    std::size_t unsharing = 0;  // rows
    bool heap = false;
    bool replay = false;
};

Layout lay_out(std::size_t height, const Content& content) {
    const auto& [targets, gpus, precursors, verdict, deaths, unsharing, heap, replay] = content;
    const auto from = [&](std::size_t least, std::size_t rows = 1) { return height >= least ? rows : 0; };
    Layout layout;
    layout.targets = targets > 1 ? std::min(from(12, height / 6), targets) : 0;
    layout.targets_gap = layout.targets > 0 ? from(16) : 0;
    layout.title = from(1);
    layout.limit = from(3);
    layout.headroom = from(8);
    layout.kinds_gap = from(28);
    layout.kinds_bar = from(14);
    layout.kinds_legend = from(11);
    layout.heap_bar = heap ? from(30) : 0;
    layout.heap_legend = heap ? from(24) : 0;
    layout.gpus = std::min(from(12, height / 6), gpus);
    layout.trouble = from(16);  // kept when empty, so that the lines below do not move
    layout.precursors = std::min(from(10, height / 8), precursors);
    // Some rows are kept when empty, so that the lines below do not move. A cause with its advice gets more rows.
    layout.verdict =
        from(18, std::clamp(verdict, std::size_t{height >= 34 ? 3U : 2U}, std::max<std::size_t>(height / 4, 3)));
    layout.gap = from(28);
    layout.header = from(6);
    layout.note = from(16);
    layout.footer = from(2);
    layout.timeline = replay ? from(3) : 0;
    layout.deaths = std::min(deaths, height >= 16 ? 3 : from(2));
    layout.unsharing = std::min(unsharing, from(12, 2));
    const std::size_t taken = layout.deaths + layout.unsharing + layout.targets + layout.targets_gap + layout.title +
                              layout.limit + layout.headroom + layout.kinds_gap + layout.kinds_bar +
                              layout.kinds_legend + layout.heap_bar + layout.heap_legend + layout.gpus +
                              layout.trouble + layout.precursors + layout.verdict + layout.gap + layout.header +
                              layout.note + layout.footer + layout.timeline;
    layout.page = height - std::min(taken, height);
    return layout;
}

class Painter {
  public:
    Painter(State& state, const Snapshot& snapshot, const History& history, const Look& look, const Growth* growth)
        : state_(state), snapshot_(snapshot), history_(history), look_(look), growth_(growth) {}

    Scene paint() {
        drop_old_notes(state_, snapshot_.time);
        const TargetSnapshot* target = settle_target(state_, snapshot_);
        constexpr std::size_t kAll = 1000;
        const std::size_t verdict_rows = target ? verdict_panel(*target, look_.width, kAll).size() : 0;
        constexpr std::size_t kMostRows = 3;
        const auto deaths = death_panel(snapshot_, state_, look_.width, kMostRows);
        const auto unsharing = target ? unsharing_panel(*target, state_, look_.width, kMostRows) : std::vector<Line>{};
        layout_ = lay_out(look_.height, {.targets = snapshot_.targets.size(),
                                         .gpus = snapshot_.gpus.size(),
                                         .precursors = target ? target->precursors.size() : 0,
                                         .verdict = verdict_rows,
                                         .deaths = state_.help ? 0 : deaths.size(),
                                         .unsharing = state_.help ? 0 : unsharing.size(),
                                         .heap = target && !target->heap.empty(),
                                         .replay = state_.timeline.has_value()});
        if (target) {
            verdict_ = verdict_panel(*target, look_.width, layout_.verdict);
            // A short form of the verdict needs fewer rows. Two rows are kept when empty, so that the lines below do
            // not move.
            const std::size_t used = std::min(layout_.verdict, std::max<std::size_t>(verdict_.size(), 2));
            layout_.page += layout_.verdict - used;
            layout_.verdict = used;
            fold_large_roles(state_, *target);
            scene_.tree = build_tree(*target, history_, state_);
            if (state_.growth != GrowthPanel::off) growth_lines_ = lower_panel(*target);
            give_rest_to_curve(*target);
        }
        scene_.page = layout_.page;
        settle_rows(state_, scene_.tree, layout_.page);
        for (Line& line : death_panel(snapshot_, state_, look_.width, layout_.deaths)) add(std::move(line), 1);
        if (state_.help)
            paint_help();
        else if (target)
            paint_target(*target);
        else
            add(Line{}.add(" no target yet", Style::dim), 1);
        finish();
        return std::move(scene_);
    }

  private:
    struct Rows {
        std::size_t first = 1;
        std::size_t last = 0;
        std::size_t all = 0;
    };

    void add(Line line, std::size_t rows) {
        if (rows > 0) scene_.lines.push_back(std::move(line));
    }

    void paint_target(const TargetSnapshot& target) {
        const std::size_t width = look_.width;
        const MemoryState& memory = target.memory;
        for (Line& line : target_list(snapshot_, state_, width, layout_.targets)) add(std::move(line), 1);
        add({}, layout_.targets_gap);
        add(title_line(snapshot_, target, history_, state_, width), layout_.title);
        for (Line& line : unsharing_panel(target, state_, width, layout_.unsharing)) add(std::move(line), 1);
        verdict_.resize(layout_.verdict);
        for (Line& line : verdict_) add(std::move(line), 1);
        add(limit_line(memory, width), layout_.limit);
        add(headroom_line(memory, width), layout_.headroom);
        add({}, layout_.kinds_gap);
        add(kinds_bar(memory, width, look_.colour), layout_.kinds_bar);
        add(kinds_legend(memory, width, look_.colour), layout_.kinds_legend);
        if (!target.heap.empty()) {
            add(heap_bar(target.heap.front(), width, look_.colour), layout_.heap_bar);
            add(heap_legend(target.heap.front(), snapshot_.time, width, look_.colour), layout_.heap_legend);
        }
        for (Line& line : gpu_panel(snapshot_, target, width, layout_.gpus)) add(std::move(line), 1);
        add(trouble_line(target), layout_.trouble);
        for (Line& line : precursor_lines(snapshot_, target, layout_.precursors)) add(std::move(line), 1);
        add({}, layout_.gap);
        for (Line& line : curve_) add(std::move(line), 1);
        add({}, layout_.curve_gap);
        if (state_.growth == GrowthPanel::off)
            paint_tree(target);
        else
            paint_growth();
    }

    // The panel that replaces the table and its header.
    std::vector<Line> lower_panel(const TargetSnapshot& target) const {
        return state_.growth == GrowthPanel::holders
                   ? holders_panel(target, snapshot_.time, look_.width)
                   : growth_panel(growth_, state_.growth, snapshot_.time, look_.width, layout_.header + layout_.page);
    }

    // Shows the curve in the rows that the table or the panel does not need.
    void give_rest_to_curve(const TargetSnapshot& target) {
        constexpr std::size_t kLeast = 7;
        const std::size_t needed = state_.growth == GrowthPanel::off
                                       ? std::max<std::size_t>(scene_.tree.rows.size(), 1)
                                       : growth_lines_.size() - std::min(growth_lines_.size(), layout_.header);
        if (state_.help || needed >= layout_.page) return;
        const std::size_t gap = look_.height >= 28 ? 1 : 0;
        const std::size_t rest = layout_.page - needed - std::min(gap, layout_.page - needed);
        const std::size_t most = std::max<std::size_t>(look_.height / 2, kLeast);
        if (rest < kLeast) return;
        curve_ = curve_panel(target, history_, look_.width, std::min(rest, most));
        if (curve_.empty()) return;
        layout_.curve = curve_.size();
        layout_.curve_gap = gap;
        layout_.page -= layout_.curve + gap;
    }

    void paint_growth() {
        const std::vector<Line>& lines = growth_lines_;
        const std::size_t room = layout_.header + layout_.page;
        state_.growth_scroll = std::min(state_.growth_scroll, lines.size() - std::min(lines.size(), room));
        const std::size_t end = std::min(state_.growth_scroll + room, lines.size());
        for (std::size_t i = state_.growth_scroll; i < end; ++i) add(lines[i], 1);
        growth_rows_ = {state_.growth_scroll + 1, end, lines.size()};
    }

    void paint_tree(const TargetSnapshot& target) {
        const Columns columns =
            fit_columns(look_.width, {.gpu = target.gpu.has_value(), .inherited = inherits_pages(target.processes)});
        add(table_header(columns, state_), layout_.header);
        const auto& rows = scene_.tree.rows;
        const std::size_t end = std::min(state_.scroll + layout_.page, rows.size());
        for (std::size_t i = state_.scroll; i < end; ++i) {
            Line line = table_row(columns, scene_.tree, rows[i], target, history_, state_);
            line.selected = i == state_.selected_index;
            add(std::move(line), 1);
        }
        if (rows.empty() && layout_.page > 0)
            add(Line{}.add(state_.filter.empty() ? "   no processes" : "   nothing matches the filter", Style::dim), 1);
    }

    void paint_help() {
        const auto help = help_lines(state_.timeline.has_value());
        const std::size_t room =
            look_.height - std::min<std::size_t>(look_.height, layout_.footer + layout_.timeline + layout_.header + 1);
        add(Line{}.add(" memscope", Style::bold).add("  any key closes this", Style::dim), 1);
        add({}, layout_.header);
        state_.help_scroll = std::min(state_.help_scroll, help.size() - std::min(help.size(), room));
        const std::size_t end = std::min(state_.help_scroll + room, help.size());
        for (std::size_t i = state_.help_scroll; i < end; ++i) add(help[i], 1);
    }

    void finish() {
        auto& lines = scene_.lines;
        const std::size_t bottom = layout_.timeline + layout_.footer + (state_.help ? 0 : layout_.note);
        lines.resize(look_.height - std::min(look_.height, bottom));
        if (!state_.help) {
            const std::size_t shown = std::min(layout_.page, scene_.tree.rows.size() - state_.scroll);
            Rows rows{state_.scroll + 1, state_.scroll + shown, scene_.tree.rows.size()};
            if (state_.growth != GrowthPanel::off) rows = growth_rows_;
            add(note_line(state_, rows.first, rows.last, rows.all, look_.width), layout_.note);
        }
        if (state_.timeline) add(timeline_line(*state_.timeline, look_.width), layout_.timeline);
        add(footer_line(snapshot_.self, state_, snapshot_.targets.size() > 1, look_.width, layout_.note == 0),
            layout_.footer);
        for (Line& line : lines) line = cut_to(std::move(line), look_.width);
    }

    State& state_;
    const Snapshot& snapshot_;
    const History& history_;
    const Look& look_;
    const Growth* growth_;
    Rows growth_rows_{};
    std::vector<Line> verdict_{};
    std::vector<Line> growth_lines_{};
    std::vector<Line> curve_{};
    Layout layout_{};
    Scene scene_{};
};

}  // namespace

Scene render(State& state, const Snapshot& snapshot, const History& history, const Look& look, const Growth* growth) {
    return Painter(state, snapshot, history, look, growth).paint();
}

}  // namespace memscope::view
