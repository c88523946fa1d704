# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# A compiler spends most of its time on the kernel's headers. It compiles the files
# of a folder as one, in a fifth of the time. So no two files of a folder have a
# static function of the same name. With CMX_JOIN=n, as in `make lint`, it compiles
# each file alone, which shows that it includes what it uses.

# files FOLDER/,NAMES: the objects of a module for these files of its folder
ifneq ($(CMX_JOIN),n)
files = $(eval $(call joined_rule,$(1),$(addprefix $(1),$(2))))$(1)joined.o
else
files = $(patsubst %,$(1)%.o,$(2))
endif

define joined_rule
$(obj)/$(1)joined.c: $(src)/Kbuild
	$$(Q)printf '#include "%s.c"\n' $(2) >$$@
endef

clean-files += joined.c */joined.c
