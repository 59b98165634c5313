#pragma once
#include <array>
#include <iterator>
#include <optional>

#include "model/judgement.h"
#include "model/series.h"

namespace memscope {

// Keeps a verdict until the evidence for another one is as strong as the evidence for this one was. Each judgement
// looks at the whole curve afresh, so near a threshold the word would change with every few samples.
//
// The result depends on the judgements and their times alone: a recorded file that is judged at the same samples as a
// watcher judged them ends with the word that the watcher showed.
class VerdictHysteresis {
  public:
    // The judgement to show. `judged` is the latest judgement of `series`; its restarts were told by the process tree,
    // or found on the curve.
    Judgement settle(const Judgement& judged, const Series& series, bool restarts_are_told = false);

  private:
    // What a leak must go on doing: the floor when the curve last said `leaking`, and the rate at which it rose.
    struct Accusation {
        Seconds at{};
        double floor = 0;
        double slope = 0;   // bytes per second
        double rise = 0;    // bytes since the leak began
        Seconds period{};   // of spikes or steps: the floor is seen once in it
        bool weak = false;  // growth that slows down: one judgement against it is enough
    };

    Judgement doubted(Judgement fresh);
    bool is_new_run(const Judgement& fresh) const;
    bool may_replace(const Judgement& fresh, const Series& series);
    bool is_refuted(const Judgement& fresh, const Series& series) const;
    double effort() const;
    double ambiguous() const;
    bool spikes_go_on(const Judgement& fresh, const Series& series);
    bool is_confirmed(const Judgement& fresh);
    bool has_lasted(const Judgement& fresh, Seconds needed);
    Judgement take(const Judgement& fresh);
    Judgement keep(const Judgement& fresh);

    Judgement shown_{};
    bool restarts_are_told_ = false;
    std::optional<Accusation> accusation_{};
    std::optional<Verdict> pending_{};  // the word that waits to be shown, and since when
    Seconds pending_since_{};
    std::optional<Seconds> accused_since_{};  // `leaking` was said first, and last
    Seconds accused_last_{};
    double calm_floor_ = 0;  // bytes: the floor when the word became `stable` or `spiky`,
    double calm_top_ = 0;    // and the highest value until then
    std::array<int, std::size(kVerdicts)> shown_before_{};  // in this run: how often each word was shown and left
    bool after_leak_ = false;                               // the run before this one leaked
    Seconds spiky_for_{};                                   // how long judgements in a row have said `spiky`
};

}  // namespace memscope
