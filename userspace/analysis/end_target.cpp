#include "analysis/end_target.h"

#include "analysis/explain_scope.h"

namespace memscope {

void end_target(TargetSnapshot& target) {
    target.up = false;
    target.precursors.clear();
    for (ScopeVerdict& verdict : target.verdicts) {
        if (!verdict.forecast) continue;
        verdict.forecast.reset();
        if (verdict.scope == VerdictScope::target) verdict.explanation = explain_scope(target, verdict);
    }
}

}  // namespace memscope
