#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "review/run_summary.h"

// The same job before and after a change. Values are those of phases (up to the end of the warm-up, and the plateau
// after it), not of moments, so two runs need not take the same time.
namespace memscope {

// One compared value. Each side has one value per run.
struct Difference {
    enum class Unit { bytes, bytes_per_second, count };
    std::string name{};  // "peak", "floor", "slope", "processes", "role trainer 0", "gpu 0"
    Unit unit = Unit::bytes;
    double base = 0;    // median of its runs
    double head = 0;    // median of its runs
    double spread = 0;  // the larger difference between two runs of one side
    // A change up to this is noise: the largest of `spread`, the least change that counts (for a size 1 % or 1 MiB),
    // and three standard errors of the slopes.
    double noise = 0;
    bool beyond_noise = false;

    double change() const { return head - base; }
    std::optional<double> share() const;  // of base; none if that is 0
};

// A line of code that held more or less than before. A line that moved within its function counts as the same line.
struct SiteDifference {
    PlaneKind plane = PlaneKind::mapped;
    std::string role{};  // "trainer 0"
    std::string line{};  // "train.py:60 validate", as in HEAD; printable
    double base = 0;     // bytes, median of its runs
    double head = 0;
    double spread = 0;

    double change() const { return head - base; }
    // True if the plane knows the line that keeps memory. False: it knows only the line that touched the memory first.
    bool knows_owner() const { return plane != PlaneKind::resident; }
};

// A container of Python that retains more or less than before, by the last census of each run.
struct HolderDifference {
    std::string path{};  // without line numbers; printable
    std::string type{};
    // Retained bytes of host and GPU, median of its runs. None: most runs do not list the container, which does not
    // mean that it does not exist.
    std::optional<double> base{};
    std::optional<double> head{};
    double spread = 0;

    double change() const { return head.value_or(0) - base.value_or(0); }
};

struct Comparison {
    std::vector<Difference> values{};
    std::vector<std::string> left_out{};  // names of values that only some of the runs have
    std::vector<SiteDifference> sites{};  // largest change first
    bool sites_at_peak = false;           // the sites are those of the peak; false: of the end
    std::vector<HolderDifference> holders{};
    std::string sentence{};  // which lines explain the difference of the peak; empty: none, or not known
    std::vector<std::string> base_verdicts{};
    std::vector<std::string> head_verdicts{};
};

Comparison compare(const std::vector<RunSummary>& base, const std::vector<RunSummary>& head);

// "peak>5%", "floor>200M", "slope>1M/h", "processes>2", "leaking".
struct FailRule {
    std::string text{};
    std::string value{};  // name of a value; empty: a verdict
    double limit = 0;     // share of the base, bytes, bytes per second, or a number
    bool is_share = false;
};
// Parses rules that are separated by commas.
Result<std::vector<FailRule>> parse_fail_rules(std::string_view text);

struct RuleResult {
    FailRule rule{};
    bool broken = false;
    std::string why{};  // one sentence
};
std::vector<RuleResult> check_rules(const std::vector<FailRule>& rules, const Comparison& comparison);

// "60 MiB", "1.0 GiB/h", "4"
std::string value_text(Difference::Unit unit, double value);

}  // namespace memscope
