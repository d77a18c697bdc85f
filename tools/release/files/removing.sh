#!/bin/sh
# Runs before the package is removed or replaced. Before a removal, for which dpkg passes "remove" and rpm passes 0, it
# stops the units and removes the links by which systemd starts them.
case ${1:-} in
remove | 0) ;;
*) exit 0 ;;
esac
command -v systemctl >/dev/null || exit 0
root=${DPKG_ROOT:-}
for link in "$root"/etc/systemd/system/*.wants/culvert-*; do
	[ ! -L "$link" ] || systemctl --root="$root/" disable "${link##*/}" || :
done
if [ -z "$root" ] && [ -d /run/systemd/system ]; then
	systemctl stop culvert-serve.service culvert-worker.service 'culvert-job@*' || :
fi
