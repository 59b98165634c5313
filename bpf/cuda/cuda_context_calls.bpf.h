/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Calls that create and destroy CUDA contexts, and the call that returns the UUID of a device. */
#ifndef MEMSCOPE_CUDA_CONTEXT_CALLS_BPF_H
#define MEMSCOPE_CUDA_CONTEXT_CALLS_BPF_H

#include "cuda/cuda_calls.bpf.h"

/* Device that a call names in its arguments. */
static __always_inline __s32 asked_device(const struct cuda_call *begun)
{
	switch (begun->call) {
	case MS_CUDA_CREATE_CONTEXT:
		return begun->arguments[2];
	case MS_CUDA_CREATE_CONTEXT_3:
		return begun->arguments[4];
	case MS_CUDA_CREATE_CONTEXT_4:
		return begun->arguments[3];
	case MS_CUDA_PRIMARY_RETAIN:
	case MS_CUDA_GET_UUID:
		return begun->arguments[1];
	case MS_CUDA_DESTROY_CONTEXT: /* has no device argument; the caller looks up the context */
		return MS_CUDA_NO_DEVICE;
	default:
		return begun->arguments[0];
	}
}

/* Updates the current context of the thread. */
static __always_inline void after_current_call(struct ms_cuda_process *process, const struct cuda_call *begun)
{
	if (begun->call == MS_CUDA_POP_CONTEXT)
		pop_context(process);
	else if (begun->call == MS_CUDA_PUSH_CONTEXT)
		push_context(process, device_of_context(process, begun->arguments[0]));
	else
		set_context(process, begun->arguments[0]);
}

static __always_inline void after_context_call(struct ms_cuda_process *process, __u32 pid,
                                               const struct cuda_call *begun)
{
	__s32 device = begun->call == MS_CUDA_DESTROY_CONTEXT
	                   ? device_of_context(process, begun->arguments[0])
	                   : known_device(asked_device(begun));
	struct ms_cuda_account *account = account_of(process, pid, device);

	if (!account)
		return;
	switch (begun->call) {
	case MS_CUDA_PRIMARY_RETAIN:
		know_context(process, result_at(begun->arguments[0]), device);
		__sync_fetch_and_add(&account->retains, 1);
		break;
	case MS_CUDA_PRIMARY_RELEASE:
		if (account->retains > 0) {
			__sync_fetch_and_add(&account->retains, -1);
			end_if_last(process, pid, account);
		}
		break;
	case MS_CUDA_PRIMARY_RESET:
		if (account->contexts <= 0)
			end_generation(account);
		break;
	case MS_CUDA_DESTROY_CONTEXT:
		if (account->contexts > 0) {
			__sync_fetch_and_add(&account->contexts, -1);
			end_if_last(process, pid, account);
		}
		break;
	case MS_CUDA_GET_UUID:
		if (bpf_probe_read_user(account->uuid, sizeof(account->uuid), (void *)begun->arguments[0]))
			count_loss(MS_LOSS_GPU_UNREADABLE);
		else
			account->has_uuid = 1;
		break;
	default:
		know_context(process, result_at(begun->arguments[0]), device);
		push_context(process, device);
		__sync_fetch_and_add(&account->contexts, 1);
	}
}

#endif
