// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The kernel's own name of an address. Run through BPF_PROG_TEST_RUN; it also works where
 * /proc/kallsyms shows no addresses (kptr_restrict). An object of its own, so that names can be had
 * without loading the rest.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#define TEXT_SIZE                                                                                  \
	256 /* KSYM_SYMBOL_LEN of older kernels; a longer name is cut, and said to be: see         \
	       `length` */

struct request {
	__u64 address;
	__u64 is_return; /* look up address - 1 ("%pB") instead of address ("%pS") */
};

char symbol_text[TEXT_SIZE];
long symbol_length; /* with the NUL, as if it all fitted; or -errno */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("syscall")
int name_address(struct request *request)
{
	__u64 address = request->address;

	if (request->is_return)
		symbol_length =
			bpf_snprintf(symbol_text, TEXT_SIZE, "%pB", &address, sizeof(address));
	else
		symbol_length =
			bpf_snprintf(symbol_text, TEXT_SIZE, "%pS", &address, sizeof(address));
	return 0;
}
