# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The library once more, with the address and undefined-behaviour sanitizers,
# and its own tests on it: ROOM_NAME from selftests/ROOM/NAME.c. Any report
# ends the test that it is in.

san_dir := $(O)/sanitize
san_lib := $(san_dir)/lib/librdmacmx.so.1
SAN_FLAGS := -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer

# Not gai_memory, which has an allocator of its own, as the sanitizer does, nor
# destroyed, which waits to get memory back that the sanitizer keeps, nor ep,
# whose clients leave what they have failed with to the end of the process.
san_compat := $(filter-out %/ep,$(compat_ours))
san_api := $(filter-out gai_memory destroyed,$(api_names))
san_tests := $(patsubst %,$(san_dir)/api_%,$(san_api)) \
	$(patsubst $(process_dir)/%,$(san_dir)/process_%,$(process_tests)) \
	$(patsubst $(compat_dir)/%,$(san_dir)/compat_%,$(san_compat)) \
	$(san_dir)/lib_sync $(san_dir)/faults $(san_dir)/faults_cm
selftest_targets += $(san_tests)
comma := ,

# gcov's: a .gcno lies beside each object, and says where the source was; the
# tests write a .gcda for each in the guest (dump.c).
san_obj := $(patsubst user/%.c,$(san_dir)/obj/%.o,$(lib_src))
SAN_COVERAGE := --coverage -fprofile-update=atomic

$(san_obj): $(san_dir)/obj/%.o: user/%.c $(wildcard user/lib/*.h) \
		$(wildcard user/names/*.h user/include/rdma/*.h) \
		uapi/rdma/rdma_cmx_ioctl.h selftests/sanitize/build.mk
	@mkdir -p $(@D)
	$(CC) $(filter-out -O%,$(USER_CFLAGS)) $(SAN_FLAGS) $(SAN_COVERAGE) \
		-DCMX_SHARED -fPIC -fvisibility=hidden -pthread -c -o $(abspath $@) $(CURDIR)/$<

# Not the library's own; what inject.c stands before
san_extra := $(san_dir)/obj/dump.o $(san_dir)/obj/inject.o
san_wrapped := $(shell awk -F', *' '/^WRAP/ { print $$2 }' \
	selftests/sanitize/inject.c) cmx_own_add

$(san_extra): $(san_dir)/obj/%.o: selftests/sanitize/%.c \
		selftests/sanitize/inject.h
	@mkdir -p $(@D)
	$(CC) $(SAN_FLAGS) -std=gnu11 -Wall -fPIC -fvisibility=hidden -c -o $@ $<

$(san_lib): $(san_obj) $(san_extra) user/lib/librdmacmx.map \
		selftests/sanitize/exports.map
	@mkdir -p $(@D)
	$(CC) $(SAN_FLAGS) -pthread -shared -Wl,-soname,librdmacmx.so.1 \
		$(addprefix -Wl$(comma)--wrap=,$(san_wrapped)) \
		$(addprefix -Wl$(comma)--version-script=,$(filter %.map,$^)) \
		-Wl,-Bsymbolic-functions,-z,nodelete -o $@ \
		$(filter %.o,$^) --coverage -libverbs

SAN_LINK = $(SAN_FLAGS) -Wl,--wrap=_exit -Wl,-rpath,$(TESTDIR)/sanitize/lib
SAN_COMMON := selftests/sanitize/leaks.c selftests/api/util.c

# The harness's macros are not ours to make clean of warnings, nor of -O1's.
SAN_CFLAGS = $(filter-out -O%,$(PROCESS_CFLAGS)) $(SAN_LINK)

$(san_dir)/api_%: selftests/api/%.c $(SAN_COMMON) selftests/api/api.h $(san_lib)
	$(CC) $(SAN_CFLAGS) -o $@ $(filter %.c %.1,$^) -libverbs -lpthread -ldl

$(san_dir)/compat_%: selftests/compat/%.c selftests/compat/pair.c \
		selftests/compat/pair.h $(SAN_COMMON) selftests/api/api.h \
		$(san_lib)
	$(CC) $(SAN_CFLAGS) -DCOMPAT_DEVICE='"rdma_cmx"' -o $@ \
		$(filter %.c %.1,$^) -libverbs -lpthread

$(san_dir)/lib_%: selftests/lib/%.c $(SAN_COMMON) selftests/api/api.h $(san_lib)
	$(CC) $(SAN_CFLAGS) -o $@ $(filter %.c %.1,$^) -libverbs -lpthread

$(san_dir)/faults $(san_dir)/faults_cm: $(san_dir)/%: selftests/sanitize/%.c \
		selftests/sanitize/inject.h selftests/sanitize/sweep.h \
		selftests/process/util.c $(SAN_COMMON) \
		selftests/process/process.h selftests/api/api.h $(san_lib)
	$(CC) $(SAN_CFLAGS) -o $@ $(filter %.c %.1,$^) -libverbs -lpthread

$(san_dir)/process_%: selftests/process/%.c selftests/process/util.c \
		$(SAN_COMMON) selftests/process/process.h selftests/api/api.h \
		$(san_lib)
	$(CC) $(SAN_CFLAGS) -o $@ $(filter %.c %.1,$^) -libverbs -lpthread

.PHONY: sanitize install-sanitize
sanitize: user $(san_tests)  ## build the library and its tests with ASan and UBSan

install-selftests: install-sanitize
install-sanitize: $(san_tests)
	$(INSTALL) -d $(DESTDIR)$(TESTDIR)/sanitize/lib
	$(INSTALL) -m 755 $(san_tests) $(DESTDIR)$(TESTDIR)/sanitize/
	$(INSTALL) -m 644 $(san_lib) $(DESTDIR)$(TESTDIR)/sanitize/lib/
	for test in $(notdir $(san_tests)); do echo $$test 600; done \
		>$(DESTDIR)$(TESTDIR)/sanitize/timeouts
