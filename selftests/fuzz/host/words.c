// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Texts that the parsers of user space look for. */
#include "host.h"

const char *const fuzz_words[] = {
	"10.55.0.1", "255.255.255.255", "fe80::1%eth0", "fd55::2", "::",
	"0x", "4294967296", "65535", "65536", "0", "http", "domain", "tftp",
	"a.cmx.test", "-", "_", ".", "..", "%", ":", "/", "\xff\xff", "\x80",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	NULL
};
