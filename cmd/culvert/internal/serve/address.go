package serve

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"culvert/cmd/culvert/internal/argument"
)

// listenAddress completes what --listen says: the default port where there is none, and all addresses for a port alone.
func listenAddress(text string) string {
	if _, err := strconv.ParseUint(text, 10, 16); err == nil {
		return ":" + text
	}
	if _, _, err := net.SplitHostPort(text); err != nil {
		return net.JoinHostPort(strings.Trim(text, "[]"), argument.DefaultPort)
	}
	return text
}

// serverURLs returns the URLs of a server, one for each address that others may reach it at.
func serverURLs(fingerprint string, address net.Addr) []string {
	hosts := []string{address.String()}
	if tcp, is := address.(*net.TCPAddr); is && tcp.IP.IsUnspecified() {
		hosts = nil
		addresses, err := net.InterfaceAddrs()
		if err != nil {
			addresses = nil // the URL of this machine for itself is better than none
		}
		for _, ip := range reachable(addresses, tcp.IP.To4() != nil) {
			hosts = append(hosts, net.JoinHostPort(ip.String(), strconv.Itoa(tcp.Port)))
		}
	}
	urls := make([]string, 0, len(hosts))
	for _, host := range hosts {
		urls = append(urls, (&argument.URL{Fingerprint: fingerprint, Address: host, Path: "."}).String())
	}
	return urls
}

// reachable picks the addresses of a machine that others can use, IPv4 first. Those of a single link are of no use
// without the name of the link, which each machine has its own of. If there is none, it is the one for the machine
// itself.
func reachable(addresses []net.Addr, onlyIPv4 bool) []netip.Addr {
	var four, six []netip.Addr
	for _, address := range addresses {
		prefix, err := netip.ParsePrefix(address.String())
		ip := prefix.Addr().Unmap()
		switch {
		case err != nil, !ip.IsGlobalUnicast():
		case ip.Is4():
			four = append(four, ip)
		case !onlyIPv4:
			six = append(six, ip)
		}
	}
	if all := slices.Concat(four, six); len(all) > 0 {
		return all
	}
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
}
