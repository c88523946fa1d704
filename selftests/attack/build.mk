# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Attackers: each test is one of them, as Documentation/security.rst lists
# them. NAME.c here and in attack_ib is a test at the uAPI, NAME.sh a script,
# tools/NAME.c a program of a script, linked to the stock libraries.

attack_tests := $(patsubst selftests/%.c,$(O)/selftests/%,\
	$(wildcard selftests/attack/*.c selftests/attack_ib/*.c))
attack_tools := $(patsubst selftests/%.c,$(O)/selftests/%,\
	$(wildcard selftests/attack/tools/*.c))
selftest_targets += $(attack_tests) $(attack_tools)

$(filter $(O)/selftests/attack_ib/%,$(attack_tests)): ATTACK_BED := -DON_INFINIBAND \
	-DADDR_RDMA='"10.66.0.1"'
$(attack_tests): $(O)/selftests/%: selftests/%.c $(uapi_common)
	$(call uapi_cc,$(ATTACK_BED))

$(attack_tools): $(O)/selftests/%: selftests/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
		-D_GNU_SOURCE -o $@ $< -lrdmacm -libverbs -lpthread

.PHONY: install-attack-tests
install-selftests: install-attack-tests
install-attack-tests: $(attack_tests) $(attack_tools)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/attack/tools \
		$(DESTDIR)$(TESTDIR)/attack_ib
	for t in $(patsubst $(O)/selftests/%,%,$(attack_tests) $(attack_tools)); do \
		$(INSTALL) -m 755 $(O)/selftests/$$t \
			$(DESTDIR)$(TESTDIR)/$$t || exit; \
	done
	for t in attack attack_ib; do \
		for f in $$(ls selftests/$$t/*.sh 2>/dev/null); do \
			$(INSTALL) -m 755 $$f $(DESTDIR)$(TESTDIR)/$$t/ || exit; \
		done; \
		$(INSTALL) -m 644 selftests/$$t/timeouts $(DESTDIR)$(TESTDIR)/$$t/ \
			|| exit; \
	done
	$(INSTALL) -m 644 selftests/attack_ib/guest $(DESTDIR)$(TESTDIR)/attack_ib/
