#include "model/judgement.h"

#include <algorithm>
#include <array>

namespace memscope {
namespace {

constexpr std::array<std::string_view, std::size(kVerdicts)> kWords = {"insufficient", "warming_up", "stable", "spiky",
                                                                       "leaking"};

}  // namespace

std::string_view phrase(Verdict verdict) {
    switch (verdict) {
        case Verdict::insufficient:
            return "too early to tell";
        case Verdict::warming_up:
            return "warming up";
        case Verdict::stable:
        case Verdict::spiky:
        case Verdict::leaking:
            break;
    }
    return word(verdict);
}

std::string_view word(Verdict verdict) { return kWords[static_cast<std::size_t>(verdict)]; }

std::optional<Verdict> verdict_of(std::string_view word) {
    const auto* const found = std::ranges::find(kWords, word);
    if (found == kWords.end()) return std::nullopt;
    return kVerdicts[found - kWords.begin()];
}

std::string_view word(Forecast::Basis basis) {
    switch (basis) {
        case Forecast::Basis::leak:
            return "leak";
        case Forecast::Basis::warmup:
            return "warmup";
        case Forecast::Basis::spike:
            return "spike";
        case Forecast::Basis::trend:
            return "trend";
    }
    return "";
}

}  // namespace memscope
