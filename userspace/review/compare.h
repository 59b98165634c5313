#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "review/run_summary.h"

// The same job before and after a change. Values are those of phases (peak, floor and slope after the warm-up), not of
// moments, so two runs need not take the same time.
namespace memscope {

// One compared value. Each side has one value per run.
struct Difference {
    enum class Unit { bytes, bytes_per_second, count };
    std::string name{};  // "peak", "floor", "slope", "processes", "role trainer 0", "gpu GPU-..."
    Unit unit = Unit::bytes;
    double base = 0;    // median of its runs
    double head = 0;    // median of its runs
    double spread = 0;  // the larger difference between two runs of one side
    bool beyond_noise = false;

    double change() const { return head - base; }
    std::optional<double> share() const;  // of base; none if that is 0
};

// A line of code that holds more or less than before.
struct SiteDifference {
    std::string line{};
    double base = 0;  // bytes
    double head = 0;
};

struct Comparison {
    std::vector<Difference> values{};
    std::vector<SiteDifference> sites{};  // largest change first
    std::vector<std::string> base_verdicts{};
    std::vector<std::string> head_verdicts{};
};

Comparison compare(const std::vector<RunSummary>& base, const std::vector<RunSummary>& head);

// "peak>5%", "floor>200M", "leaking".
struct FailRule {
    std::string text{};
    std::string value{};  // name of a value; empty: a verdict
    double limit = 0;     // share of the base or bytes
    bool is_share = false;
};
// Rules with commas between them.
Result<std::vector<FailRule>> parse_fail_rules(std::string_view text);

struct RuleResult {
    FailRule rule{};
    bool broken = false;
    std::string why{};  // one sentence
};
std::vector<RuleResult> check_rules(const std::vector<FailRule>& rules, const Comparison& comparison);

}  // namespace memscope
