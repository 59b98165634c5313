/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Tensors of PyTorch on GPUs: the arguments of its static probes (USDT), and the accounts that the BPF program keeps.
 * Included by both sides, as wire.h is.
 */
#ifndef MEMSCOPE_SHARED_GPU_TENSORS_H
#define MEMSCOPE_SHARED_GPU_TENSORS_H

#include <memscope/shared/wire.h>

/* Maximum number of live tensors of all processes. A tensor beyond it is counted as a loss and is in no sum. */
#define MS_GPU_TENSORS (1u << 20)
#define MS_GPU_TENSOR_PROCESSES 16384
/* Maximum number of different probe sites: each build of PyTorch has three. */
#define MS_GPU_TENSOR_SITES 256
#define MS_GPU_TENSOR_DEVICES 32                      /* of one process */
#define MS_GPU_TENSOR_NO_DEVICE MS_GPU_TENSOR_DEVICES /* the probe passed an impossible number */
#define MS_GPU_TENSOR_SLOTS (MS_GPU_TENSOR_DEVICES + 1)

enum ms_operand_kind { MS_OPERAND_CONSTANT, MS_OPERAND_REGISTER, MS_OPERAND_MEMORY };

/* An argument of a probe. */
struct ms_operand {
    __s64 number;      /* the constant, or the offset that is added to the register */
    __u16 register_at; /* offset in the kernel's struct pt_regs */
    __u8 kind;         /* enum ms_operand_kind */
    __u8 bytes;        /* 1, 2, 4 or 8, skipped bits included */
    __u8 skipped_bits; /* lowest bits that are no part of the value */
    __u8 is_signed;
    __u8 pad[2];
};
MS_LAYOUT(ms_operand, 16);

enum ms_gpu_tensor_event { MS_GPU_TENSOR_MALLOC, MS_GPU_TENSOR_FREE };

/* In the map `gpu_tensor_sites`, by the cookie of the probe. */
struct ms_gpu_tensor_site {
    __u32 event; /* enum ms_gpu_tensor_event */
    __u32 pad;
    struct ms_operand pointer;
    struct ms_operand size;   /* this and the next member: MS_GPU_TENSOR_MALLOC only */
    struct ms_operand device; /* number of the device in the process */
};
MS_LAYOUT(ms_gpu_tensor_site, 56);

/* A process that has allocated tensors, by pid in the map `gpu_tensor_processes`. After an exec it gets a new id. */
struct ms_gpu_tensor_process {
    __u64 id;
    __u64 start_ns;
    __u64 missed; /* events that made the sums wrong: a tensor is missing, or is counted after its free */
    __s64 tensors;
    __s64 bytes[MS_GPU_TENSOR_SLOTS]; /* by device, as the process counts them, or MS_GPU_TENSOR_NO_DEVICE */
    __u8 used[MS_GPU_TENSOR_SLOTS];   /* 1: the device has had a tensor */
    __u8 pad[7];
};
MS_LAYOUT(ms_gpu_tensor_process, 336);

struct ms_gpu_tensor_key {
    __u64 process; /* ms_gpu_tensor_process.id */
    __u64 address;
    __u32 pid;
    __u32 pad;
};
MS_LAYOUT(ms_gpu_tensor_key, 24);

struct ms_gpu_tensor {
    __u64 bytes;
    __u32 device; /* a slot of ms_gpu_tensor_process */
    __u32 pad;
};
MS_LAYOUT(ms_gpu_tensor, 16);

#endif
