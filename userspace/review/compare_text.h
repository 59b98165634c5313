#pragma once
#include <string>
#include <vector>

#include "review/compare.h"

namespace memscope {

std::string comparison_text(const Comparison& comparison, const std::vector<RuleResult>& rules);
std::string comparison_markdown(const Comparison& comparison, const std::vector<RuleResult>& rules);
std::string comparison_junit(const Comparison& comparison, const std::vector<RuleResult>& rules);
std::string comparison_json(const Comparison& comparison, const std::vector<RuleResult>& rules);

}  // namespace memscope
