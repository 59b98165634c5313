#pragma once
#include <array>
#include <iterator>
#include <optional>

#include "model/judgement.h"
#include "model/series.h"

namespace memscope {

// How long the floor must be flat before it counts as a plateau.
Seconds least_plateau(const Judgement& judgement);

// Keeps a verdict until the evidence for another one is as strong as the evidence for this one was. Each judgement
// evaluates the whole curve again, so near a threshold the verdict would change every few samples.
//
// The result depends only on the judgements and their times. A recorded file that is judged at the same samples as in
// the watcher therefore ends with the verdict that the watcher showed.
class VerdictHysteresis {
  public:
    // Returns the judgement to show. `judged` is the latest judgement of `series`. `restarts_from_tree`: its restarts
    // were reported by the process tree; otherwise they were found on the curve.
    Judgement settle(const Judgement& judged, const Series& series, bool restarts_from_tree = false);

  private:
    // The floor and its slope at a judgement that said `leaking`. Later samples are compared with them.
    struct Accusation {
        Seconds at{};
        double floor = 0;
        double slope = 0;      // bytes per second
        double rise = 0;       // bytes since the leak began
        Seconds period{};      // of spikes or steps: the floor is visible once per period
        bool weak = false;     // growth that slows down: one judgement against it is enough
        double steepest = 0;   // the largest slope of this leak so far, bytes per second
        double strongest = 0;  // the strongest evidence for it so far: the slope in standard errors
    };

    struct Risen {
        double bytes = 0;
        double error = 0;  // standard error
        Seconds in{};      // in this time

        double at_most(double errors) const { return bytes + errors * error; }
    };

    Judgement doubted(Judgement fresh);
    bool is_new_run(const Judgement& fresh) const;
    bool may_replace(const Judgement& fresh, const Series& series);
    bool is_refuted(const Judgement& fresh, const Series& series) const;
    static std::optional<Risen> risen_since(const Accusation& accusation, const Judgement& fresh, const Series& series);
    bool still_rises(const Judgement& fresh, const Series& series) const;
    double effort() const;
    double ambiguous() const;
    bool keeps_coming_back() const;  // the leak was found again after many changes
    int changes() const;             // of the verdict in this run
    bool spikes_go_on(const Judgement& fresh, const Series& series);
    bool is_confirmed(const Judgement& fresh);
    bool has_lasted(const Judgement& fresh, Seconds needed);
    void note_growth(const Judgement& fresh);
    Seconds longer_than_pause(const Judgement& fresh) const;
    void accuse(const Judgement& fresh, const Series& series, bool same_leak);
    Judgement take(const Judgement& fresh, const Series& series);
    Judgement keep(const Judgement& fresh);

    Judgement shown_{};
    bool restarts_from_tree_ = false;
    std::optional<Accusation> accusation_{};  // the last judgement that said `leaking`
    // The last judgement that said `leaking` with full evidence. After a leak has stopped, judgements say `leaking` for
    // some more time, with a slope that gets smaller and a line that fits less. If they counted, each of them would
    // move the time from which the floor has to be flat.
    std::optional<Accusation> full_accusation_{};
    std::optional<Verdict> pending_{};        // a verdict that is not shown yet
    Seconds pending_since_{};                 // time of the first judgement with the verdict `pending_`
    std::optional<Seconds> accused_since_{};  // time of the first recent judgement that said `leaking`
    Seconds accused_last_{};                  // time of the last judgement that said `leaking`
    double calm_floor_ = 0;                   // bytes: the floor when the verdict became `stable` or `spiky`
    double calm_top_ = 0;                     // bytes: the highest value until the verdict became `stable` or `spiky`
    double grown_to_ = 0;                     // bytes: the floor when it last grew materially in this run
    Seconds grew_at_{};                       // time at which the floor last grew materially in this run
    Seconds calm_since_{};                    // grew_at_ when the verdict became `stable` or `spiky`
    Seconds pause_{};      // length of the longest plateau that was shown before the loading of its run continued
    bool paused_ = false;  // a plateau was shown in this run before its loading continued
    // In this run: how often each verdict was shown and replaced.
    std::array<int, std::size(kVerdicts)> shown_before_{};
    bool after_leak_ = false;  // the run before this one leaked
    Seconds spiky_for_{};      // how long judgements in a row have said `spiky`
};

}  // namespace memscope
