# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The manual pages, from Documentation/man. Those of functions are in section
# 3cmx, since librdmacm-dev has pages of the same names in 3; a function that
# has no page is a link to the one that describes it.

# Without rst2man (package python3-docutils) there are no manual pages.
rst2man := $(firstword $(shell command -v rst2man rst2man.py 2>/dev/null))
man_sources := $(wildcard Documentation/man/*.rst)
man_pages := $(if $(rst2man),$(patsubst Documentation/man/%.rst,$(O)/man/%,$(man_sources)))
man_links := $(if $(rst2man),$(O)/man/links)
user_targets += $(man_pages) $(man_links)

$(O)/man/%: Documentation/man/%.rst
	@mkdir -p $(@D)
	$(rst2man) --strict $< $@

# The folder is newer when a page has gone.
$(man_links): $(filter %.3cmx.rst,$(man_sources)) user/man/names.sh \
		Documentation/man
	@mkdir -p $(@D)
	bash user/man/names.sh $(filter %.rst,$^) >$@

.PHONY: install-man
install-user: install-man
install-man: $(man_pages) $(man_links)
	$(foreach page,$(man_pages),$(INSTALL) -D -m 644 $(page) \
		$(DESTDIR)$(PREFIX)/share/man/man$(patsubst %cmx,%,$(patsubst .%,%,$(suffix $(page))))/$(notdir $(page));)
	$(if $(man_links),while read -r name page; do \
		[ "$$name" = "$$page" ] || echo ".so man3/$$page.3cmx" \
			>$(DESTDIR)$(PREFIX)/share/man/man3/$$name.3cmx || exit; \
	done <$(man_links))
