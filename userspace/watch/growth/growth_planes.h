#pragma once
#include <optional>
#include <vector>

#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/gpu/cuda_recorder.h"
#include "watch/growth/growth_ledger.h"
#include "watch/growth/host_tensor_recorder.h"
#include "watch/growth/line_growth.h"
#include "watch/growth/mapped_recorder.h"
#include "watch/growth/resident_recorder.h"

namespace memscope {

// What processes hold at each call site, from the recorders of all kinds of growth. Any thread may call these
// functions, except functions whose comment names a thread.
class GrowthPlanes {
  public:
    struct Recorders {
        GrowthStacks& stacks;
        ResidentRecorder& resident;
        MappedRecorder& mapped;
        const CudaRecorder& cuda;
        HostTensorRecorder& host_tensors;
    };
    GrowthPlanes(const Recorders& recorders, GrowthLedger& ledger) : from_(recorders), ledger_(ledger) {}

    // The growth of a target. For a process that has just ended it is what the process held at its end.
    SitePlanes of(const TargetSnapshot& target);
    // Age of the oldest check which of the resident pages still exist. `nullopt`: no process has samples, or one was
    // not checked yet.
    std::optional<Seconds> pages_checked(const TargetSnapshot& target);
    // Growth by line. Cheap enough to be called in some of the ticks. Uses only symbols that are loaded.
    std::vector<LineGrowth> lines(const std::vector<Process>& processes, NativeSymbols& symbols);
    // Fills in the lines that mapped the large mappings of a process, if they are known.
    void name_mappings(HeapCensus& census);

    // Thread of the ticks, with the mutex of the ledger: keeps what a process held at its end. Called before its stacks
    // are forgotten.
    void keep_last(const TrackedProcess& process, Seconds now);

  private:
    std::vector<SiteGrowth> named(const std::vector<HeldAtStack>& held, const RoleKey& role = {}) const;
    SitePlane resident_plane(const TargetSnapshot& target);
    SitePlane mapped_plane(const TargetSnapshot& target, const MappedRecorder::Held& held);
    SitePlane gpu_plane(const TargetSnapshot& target, const CudaRecorder::Held& held);
    SitePlane tensors_plane(const TargetSnapshot& target, const HostTensorRecorder::Held& held);
    // `ended`: the plane of processes that have ended; null: none is kept.
    SitePlane held_plane(const TargetSnapshot& target, const std::vector<HeldAtStack>& stacks,
                         std::vector<SiteGrowth> EndedGrowth::* ended);
    KeptSites kept_at_sites(const std::vector<Process>& processes, NativeSymbols& symbols);

    Recorders from_;
    GrowthLedger& ledger_;
};

// Anonymous memory of a process, swapped out or not.
Bytes held_by(const AddressSpace& memory);

// The sites with only the bytes that they keep. Memory that a step of the job allocates and frees again is left out.
std::vector<SiteGrowth> kept_part(std::vector<SiteGrowth> sites);

}  // namespace memscope
