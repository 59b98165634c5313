#include "model/gpu/gpu.h"

#include <numeric>

namespace memscope {

namespace {

void add(std::optional<Bytes>& sum, const std::optional<Bytes>& more) {
    if (more) sum = sum.value_or(Bytes{}) + *more;
}

}  // namespace

GpuId gpu_id(const GpuUuid& uuid) {
    constexpr char kDigits[] = "0123456789abcdef";
    GpuId id = "GPU";
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) id += '-';
        id += kDigits[uuid[i] >> 4U];
        id += kDigits[uuid[i] & 0xFU];
    }
    return id;
}

std::string_view name_of(CudaApi api) {
    static constexpr std::string_view kNames[] = {"alloc", "vmm", "pool", "managed"};
    return kNames[static_cast<std::size_t>(api)];
}

std::string_view name_of(PinnedKind kind) { return kind == PinnedKind::allocated ? "alloc" : "register"; }

Bytes GpuUse::reserved_total() const { return std::accumulate(reserved.begin(), reserved.end(), Bytes{}); }

std::optional<Bytes> GpuUse::cached() const {
    const Bytes reserved_bytes = reserved_total();
    if (!tensors || reserved_bytes.n == 0) return std::nullopt;
    return reserved_bytes - *tensors;
}

GpuUse& GpuUse::operator+=(const GpuUse& other) {
    add(used, other.used);
    add(tensors, other.tensors);
    for (std::size_t i = 0; i < reserved.size(); ++i) reserved[i] = reserved[i] + other.reserved[i];
    return *this;
}

Bytes PinnedUse::total() const { return std::accumulate(by_kind.begin(), by_kind.end(), Bytes{}); }

PinnedUse& PinnedUse::operator+=(const PinnedUse& other) {
    for (std::size_t i = 0; i < by_kind.size(); ++i) by_kind[i] = by_kind[i] + other.by_kind[i];
    return *this;
}

}  // namespace memscope
