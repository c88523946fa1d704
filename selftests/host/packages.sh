#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Builds the Debian packages; runs lintian, and checks the lists of files.
# Installs them in a copy of the host's root directory (an overlay) and purges
# them: no file may stay. The rpm packages: rpmlint, and the same files. TAP.
here=$(cd "${0%/*}" && pwd)
top=$(cd "$here/../.." && pwd)
export PATH=$PATH:/usr/sbin:/sbin
unset MAKEFLAGS MFLAGS MAKELEVEL

# left DIR: changes in the upper directory of the overlay; a character device
# stands for a removed file
left() {
	local name

	cd "$1" || return
	# install_all compares the cache of the loader.
	find . \( -path ./etc/ld.so.cache -o -path ./var/lib/dpkg -o -path ./var/log \
		-o -path ./var/cache -o -path ./tmp -o -path ./root \
		-o -name '*-' -o -name .pwd.lock \) \
		-prune -o -print | while read -r name; do
		if [ -c "$name" ]; then
			echo "removed:${name#.}"
		elif [ ! -d "$name" ]; then
			cmp -s "$name" "/$name" || echo "${name#.}"
		elif [ ! -d "/$name" ]; then
			echo "${name#.}"
		fi
	done
}

# packages.sh --install DIR: in a mount namespace
install_all() {
	local debs=$1 work root

	work=$(mktemp -d) || return
	mount -t tmpfs tmpfs "$work" || return
	root=$work/root
	mkdir "$work/upper" "$work/work" "$root" || return
	mount -t overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" \
		overlay "$root" || return
	# Without a kernel's headers dkms adds and builds nothing: host/dkms
	# does.
	mount --rbind /dev "$root/dev" && mount --rbind /proc "$root/proc" &&
		mount -t tmpfs tmpfs "$root/lib/modules" || return
	# That of the host may be older than its libraries.
	chroot "$root" ldconfig -X && cp "$root/etc/ld.so.cache" "$work" || return
	cp "$debs"/*.deb "$0" "$root/tmp/"
	rm "$root"/tmp/*-dbgsym_*.deb
	chroot "$root" "/tmp/${0##*/}" --installed </dev/null
	echo "left $({
		left "$work/upper"
		cmp -s "$work/ld.so.cache" "$root/etc/ld.so.cache" ||
			echo /etc/ld.so.cache
	} | xargs)"
}

# Runs inside: each line is a fact for install_check.
installed() {
	local users link packages='rdma-cmx rdma-cmx-dkms librdmacmx-dev librdmacmx1'

	export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
	cd /tmp || return
	dpkg -P $packages >/dev/null 2>&1
	users=$(getent passwd; getent group)
	dpkg -i ./*.deb
	echo "user $(getent passwd rdma-cmx | cut -d: -f1)"
	echo "dkms $(dkms status -m rdma-cmx)"
	echo "cmx $(cmx version | head -n 1)"
	echo 'int main(void) { return 0; }' >a.c
	read -ra link < <(pkg-config --cflags --libs rdmacmx)
	gcc -o a a.c "${link[@]}" && echo links
	dpkg -P $packages
	[ "$users" != "$(getent passwd; getent group)" ] || echo "same users"
}

case ${1:-} in
--install)
	install_all "$2"
	exit
	;;
--installed)
	installed
	exit
	;;
esac

# shellcheck source-path=SCRIPTDIR source=../vm/guest/lib.sh
. "$here/../vm/guest/lib.sh"
out=$("$here/../vm/deps.sh" packages 2>&1) || plan_skip "${out##*$'\n'}"
version=$(sed -n 's/^VERSION *:*= *//p' "$top/Makefile")
work=$(mktemp -d "${TMPDIR:-/tmp}/cmx-packages.XXXXXX") || exit
trap 'rm -rf "$work"' EXIT
deb=$work/deb rpm=$work/rpm

# deb_files PACKAGE: its files, without documents, manual pages of functions and
# the modules' source
deb_files() {
	dpkg-deb -c "$deb/$1"_*.deb | awk '$1 !~ /^d/ { print substr($6, 2) }' |
		grep -vE '^/usr/share/doc/|/man3/|^/usr/src/.*/(core|ucmx)/' |
		sed "s|/$(gcc -print-multiarch)/|/LIB/|; s|$version|VERSION|" |
		sort | xargs
}

# The required files of each Debian package
files_check() {
	is "files of rdma-cmx" "$(deb_files rdma-cmx)" "$(xargs <<-END
		/etc/cdi/rdma-cmx.json
		/etc/request-key.d/rdma-cmx.conf
		/lib/systemd/system/rdma-cmx-stat.service
		/lib/systemd/system/rdma-cmx-stat.timer
		/usr/bin/cmx
		/usr/lib/modules-load.d/rdma-cmx.conf
		/usr/lib/sysusers.d/rdma-cmx.conf
		/usr/lib/udev/rules.d/60-rdma-cmx.rules
		/usr/libexec/rdma-cmx/cmx-names
		/usr/share/bash-completion/completions/cmx
		/usr/share/man/man1/cmx.1.gz
		/usr/share/man/man4/rdma_cmx.4.gz
		/usr/share/man/man8/cmx-names.8.gz
	END
	)"
	is "files of librdmacmx1" "$(deb_files librdmacmx1)" \
		"/usr/lib/LIB/librdmacmx.so.1"
	is "files of librdmacmx-dev" "$(deb_files librdmacmx-dev)" "$(xargs <<-END
		/usr/include/rdma-cmx/rdma/rdma_cma.h
		/usr/include/rdma-cmx/rdma/rdma_cmx.h
		/usr/include/rdma-cmx/rdma/rdma_cmx_ioctl.h
		/usr/include/rdma-cmx/rdma/rdma_cmx_ioctl_event.h
		/usr/include/rdma-cmx/rdma/rdma_cmx_ioctl_id.h
		/usr/include/rdma-cmx/rdma/rdma_cmx_ioctl_mcast.h
		/usr/include/rdma-cmx/rdma/rdma_cmx_ioctl_path.h
		/usr/include/rdma-cmx/rdma/rdma_cmx_ioctl_resolve.h
		/usr/include/rdma-cmx/rdma/rdma_cmx_ioctl_service.h
		/usr/include/rdma-cmx/rdma/rdma_cmx_ioctl_types.h
		/usr/include/rdma-cmx/rdma/rdma_cmx_names.h
		/usr/include/rdma-cmx/rdma/rdma_verbs.h
		/usr/include/rdma-cmx/rdma/rsocket.h
		/usr/lib/LIB/librdmacmx.a
		/usr/lib/LIB/librdmacmx.so
		/usr/lib/LIB/pkgconfig/rdmacmx.pc
		/usr/share/man/man7/rdmacmx.7.gz
	END
	)"
	is "the modules' source" "$(dpkg-deb -c "$deb"/rdma-cmx-dkms_*.deb |
		sed -n "s|.* \./usr/src/rdma-cmx-$version/\(.*[^/]\)$|\1|p" | sort)" \
		"$(cd "$top" && { git ls-files -co --exclude-standard Kbuild \
			Makefile dkms.conf kernel uapi ||
			find Kbuild Makefile dkms.conf kernel uapi -type f; } |
			sort)"
}

# The version nodes of the map match the symbols file: a program depends on the
# version of the library that has them.
symbols_check() {
	is "nodes in the symbols file" \
		"$(sed -n 's/^ (symver)\([^ ]*\) .*/\1/p' \
			"$top/debian/librdmacmx1.symbols" | sort | xargs)" \
		"$(sed -n 's/^\(RDMA[A-Z0-9_.]*\) {$/\1/p' \
			"$top/user/lib/librdmacmx.map" | sort | xargs)"
}

# all_files COMMAND...: files that the command lists for packages, as far as
# both kinds have them. Only Debian has the static library; /usr/lib64 is
# Fedora's.
all_files() {
	"$@" | grep -vE '/$|/share/(doc|licenses)|/\.build-id|\.a$' |
		sed -E "s|^\.||; s|/usr/lib64/|/usr/lib/|; s|\.gz$||
			s|^/lib/|/usr/lib/|
			s|/usr/lib/$(gcc -print-multiarch)/|/usr/lib/|" |
		sort -u
}

deb_list() {
	local file

	for file in "$deb"/*.deb; do
		[[ $file == *-dbgsym_* ]] ||
			dpkg-deb -c "$file" | awk '$1 !~ /^d/ { print $6 }'
	done
}

rpm_list() {
	rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' \
		"$rpm"/RPMS/*/*.rpm | awk '$1 !~ /^d/ { print $2 }'
}

rpm_check() {
	ok "make rpm" "$top/packaging/rpm.sh" "$rpm" || return
	ok "rpmlint" rpmlint -r "$top/packaging/rpm/rdma-cmx.rpmlintrc" \
		"$top/packaging/rpm/rdma-cmx.spec" "$rpm"/RPMS/*/*.rpm
	is "the rpm packages have the same files" "$(all_files rpm_list)" \
		"$(all_files deb_list)"
	scripts_check
}

# install_user ROOT: `make install-user` there; all is built
install_user() {
	make -s -C "$top" install-user DESTDIR="$1"
}

# A file that the administrator has changed stays.
conf_check() {
	local root=$work/conf file

	file=$root/etc/request-key.d/rdma-cmx.conf
	ok "make install-user" install_user "$root"
	is "the mode of a configuration file" "$(stat -c %a "$file")" 644
	ok "make install-user again" install_user "$root"
	is "no other file" "$(find "$root/etc" -name '*.new*')" ""
	sed -i s/cmx-names/cmx-names-x/ "$file"
	cp "$file" "$work/changed"
	like "make install-user says that a file was changed" \
		"$(install_user "$root" 2>&1)" "rdma-cmx.conf differs from .*new"
	ok "it stays" cmp "$file" "$work/changed"
	is "beside the new one" "$(diff "$file" "$file.new" | grep -c '^>')" \
		"$(diff "$file" "$file.new" | grep -c '^<.*names-x')"
	is "and no other file" "$(find "$root/etc/request-key.d" -type f | wc -l)" 2
}

# rpm_script NAME N [PACKAGE]: prints the commands of a script of the package,
# by default that with the timer; N of the package will be installed. systemd
# runs there, and rdma_cmx is loaded.
rpm_script() {
	rpm -qp --qf "%{$1}" "$rpm"/RPMS/*/${3:-rdma-cmx-[0-9]}*.rpm |
		sed "s,/run/systemd/system,$work,; s,/sys/module/rdma_cmx,$work," |
		PATH=$work/stub:$PATH sh -s "$2"
}

scripts_check() {
	local command timer=rdma-cmx-stat.timer

	mkdir "$work/stub"
	for command in systemctl rm dkms rmmod; do
		printf '#!/bin/sh\necho "%s $*"\n' $command >"$work/stub/$command"
	done
	# A kernel runs that has no modules; another has links to those of a
	# third.
	printf '#!/bin/sh\necho 6.1.0-1-running\n' >"$work/stub/uname"
	cat >"$work/stub/dkms" <<-'END'
		#!/bin/sh
		case $* in
		"status -m rdma-cmx") cat <<-LINES ;;
			rdma-cmx/0.0.9, 6.1.0-2-next, x86_64: installed (original_module exists)
			rdma-cmx/0.0.8, 6.1.0-2-next, x86_64: built
			rdma-cmx, 0.0.9, 5.14.0-3.el9, x86_64: built
			rdma-cmx/0.0.9, 5.14.0-4.el9, x86_64: installed-weak from 5.14.0-3.el9
			rdma-cmx/0.1.0: added
		LINES
		"build "*-next*) exit 10 ;;
		*) echo "dkms $*" ;;
		esac
	END
	chmod 755 "$work"/stub/*
	is "rpm: the timer is as the distribution presets it" \
		"$(rpm_script POSTIN 1)" "systemctl --no-reload preset $timer"
	is "rpm: an upgrade lets the timer run" \
		"$(rpm_script POSTIN 2; rpm_script PREUN 1; rpm_script POSTUN 1)" \
		"systemctl daemon-reload"
	is "rpm: the timer ends with the package" \
		"$(rpm_script PREUN 0; rpm_script POSTUN 0)" "$(cat <<-END
		systemctl --no-reload disable --now $timer ${timer%timer}service
		systemctl daemon-reload
		rm -f /var/lib/prometheus/node-exporter/rdma-cmx.prom
	END
	)"
	command="-m rdma-cmx -v $version"
	is "rpm: a new release builds its modules for each kernel that has some" \
		"$(rpm_script POSTIN 2 rdma-cmx-dkms 2>&1)" "$(cat <<-END
		dkms add $command --rpm_safe_upgrade
		dkms build $command -k 5.14.0-3.el9 --force
		dkms install $command -k 5.14.0-3.el9 --force
		dkms build $command -k 6.1.0-1-running --force
		dkms install $command -k 6.1.0-1-running --force
		rdma-cmx: no new modules for 6.1.0-2-next
	END
	)"
	is "rpm: an upgrade unloads no module" \
		"$(rpm_script PREUN 1 rdma-cmx-dkms)" \
		"dkms remove $command --all --rpm_safe_upgrade"
	is "rpm: the modules go with their package" \
		"$(rpm_script PREUN 0 rdma-cmx-dkms)" "$(cat <<-END
		rmmod rdma_ucmx
		rmmod rdma_cmx
		dkms remove $command --all --rpm_safe_upgrade
	END
	)"
}

install_check() {
	local out flags=-m

	[ "$(id -u)" = 0 ] || flags=-rm
	if ! out=$(TMPDIR=$work unshare $flags "$0" --install "$deb" 2>&1); then
		if [ "$(id -u)" != 0 ] || grep -q 'mount:' <<<"$out"; then
			for out in 1 2 3 4 5 6; do
				skip "install and purge $out" "no overlay here"
			done
			return
		fi
		fail "install and purge"
		diag "$out"
		return
	fi
	like "installed: the user of the name helper" "$out" "^user rdma-cmx$"
	like "the modules' source is added to dkms" "$out" \
		"^dkms rdma-cmx/$version: added"
	like "cmx runs with the library" "$out" "^cmx .*$version"
	like "a program links to the library" "$out" "^links$"
	like "dpkg -P removes the user" "$out" "^same users$"
	like "dpkg -P leaves nothing" "$out" "^left $" || diag "$out"
}

# Keeps the packages for host/upgrade, if the sources are the same then.
keep() {
	local kept=$top/build/deb-tested

	rm -rf "$kept"
	mkdir -p "$kept" && cp "$deb"/*.deb "$kept" &&
		"$top/packaging/tree.sh" --sum >"$kept/sources"
}

plan 31
is "version in debian/changelog (OPS-01)" \
	"$(dpkg-parsechangelog -l "$top/debian/changelog" -S Version)" "$version"
conf_check
if ok "make deb" "$top/packaging/deb.sh" "$deb"; then
	keep || diag "the packages cannot be kept"
	ok "lintian" lintian --allow-root --fail-on error \
		"$deb"/*.changes
	files_check
	symbols_check
	install_check
	rpm_check
fi
finish
