# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Packages of Debian and of distributions with rpm. Both are built in a copy of
# the tree in build/.

.PHONY: deb rpm deps-packages
deb: deps-packages  ## Debian packages in build/deb
	@packaging/deb.sh $(O)/deb
	@ls $(O)/deb/*.deb

rpm: deps-packages  ## rpm packages of user space, and of dkms, in build/rpm
	@packaging/rpm.sh $(O)/rpm
	@find $(O)/rpm/RPMS -name '*.rpm'

deps-packages:
	@selftests/vm/deps.sh packages
