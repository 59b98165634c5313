#pragma once
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <memory>

namespace memscope {

// Each libbpf handle has one owner.
template <auto release>
struct Release {
    void operator()(auto* handle) const { release(handle); }
};
using Link = std::unique_ptr<bpf_link, Release<bpf_link__destroy>>;
using Ring = std::unique_ptr<ring_buffer, Release<ring_buffer__free>>;
using Btf = std::unique_ptr<btf, Release<btf__free>>;

}  // namespace memscope
