package copybinary

import (
	"net/netip"
	"strings"

	"culvert/source"
)

// The families of addresses, PGSQL_AF_INET and PGSQL_AF_INET6.
const (
	family4 = 2
	family6 = 3
)

// address is the address of a host or a network (network_recv in network.c).
func address(isNetwork bool) column {
	return func(dst []byte, kind source.Kind, value []byte) ([]byte, bool) {
		if kind == source.Bytes {
			return dst, false
		}
		at, ok := parseAddress(string(value))
		if !ok || isNetwork && at != at.Masked() {
			return dst, false
		}
		family, flag, octets := byte(family4), byte(0), at.Addr().AsSlice()
		if at.Addr().Is6() {
			family = family6
		}
		if isNetwork {
			flag = 1
		}
		return append(append(dst, family, byte(at.Bits()), flag, byte(len(octets))), octets...), true
	}
}

// parseAddress reads an address, and the length of its network, which is the whole address if it is not given.
func parseAddress(value string) (at netip.Prefix, ok bool) {
	if strings.Contains(value, "/") {
		at, err := netip.ParsePrefix(value)
		return at, err == nil
	}
	one, err := netip.ParseAddr(value)
	return netip.PrefixFrom(one, one.BitLen()), err == nil && one.Zone() == ""
}
