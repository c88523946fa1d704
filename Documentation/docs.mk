# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# The pages as HTML, with the kernel-doc of the headers.

.PHONY: docs deps-docs
docs: deps-docs  ## the documentation as HTML in build/docs/html, by Sphinx
	@KDIR=$(KDIR) Documentation/docs.sh $(O)/docs
	@echo "$(O)/docs/html/index.html"

deps-docs:
	@selftests/vm/deps.sh docs
