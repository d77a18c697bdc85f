package serve

import (
	"net"
	"net/netip"
	"slices"
	"testing"
)

func TestListenAddress(t *testing.T) {
	for text, want := range map[string]string{
		"7000": ":7000", ":7000": ":7000", "10.0.0.1": "10.0.0.1:28583", "10.0.0.1:7": "10.0.0.1:7",
		"fd00::2": "[fd00::2]:28583", "[fd00::2]": "[fd00::2]:28583", "localhost": "localhost:28583",
	} {
		if got := listenAddress(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// Of the addresses of a machine those are printed that others can use.
func TestReachable(t *testing.T) {
	var all []net.Addr
	for _, text := range []string{
		"127.0.0.1/8", "fd00::2/64", "fe80::1/64", "10.0.0.7/24", "::1/128", "169.254.1.1/16",
	} {
		_, network, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		network.IP = netip.MustParsePrefix(text).Addr().AsSlice()
		all = append(all, network)
	}
	four, six := netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("fd00::2")
	if got := reachable(all, false); !slices.Equal(got, []netip.Addr{four, six}) {
		t.Errorf("got %v", got)
	}
	if got := reachable(all, true); !slices.Equal(got, []netip.Addr{four}) {
		t.Errorf("for IPv4 alone: %v", got)
	}
	if got := reachable(all[:1], false); !slices.Equal(got, []netip.Addr{netip.MustParseAddr("127.0.0.1")}) {
		t.Errorf("without a network: %v", got)
	}
}
