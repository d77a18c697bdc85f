package cli

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const someFingerprint = "o3yrhnomzr7jitk4wcyiozh6qtvjuemqperdi66n7hdcqkzv6hgq"

func TestAllowedInUpperCase(t *testing.T) {
	o := &serveOptions{allow: []string{strings.ToUpper(someFingerprint), someFingerprint}}
	got, err := o.allowed(t.Context(), &app{}, "")
	if err != nil || !slices.Equal(got, []string{someFingerprint}) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestParseRemoteURL(t *testing.T) {
	for text, want := range map[string]remoteURL{
		"culvert://" + someFingerprint + "@db.example":            {someFingerprint, "db.example:28583", "."},
		"culvert://" + someFingerprint + "@db.example/":           {someFingerprint, "db.example:28583", "."},
		"culvert://" + someFingerprint + "@10.0.0.1:7/a/b/":       {someFingerprint, "10.0.0.1:7", "a/b"},
		"culvert://" + someFingerprint + "@[fd00::2]:7/a b%3F%25": {someFingerprint, "[fd00::2]:7", "a b?%"},
	} {
		u, err := parseRemoteURL(text)
		if err != nil || *u != want {
			t.Errorf("%s: %+v, %v", text, u, err)
			continue
		}
		again, err := parseRemoteURL(u.String())
		if err != nil || *again != want {
			t.Errorf("%s: its own form %s is %+v, %v", text, u, again, err)
		}
	}
	for _, text := range []string{
		"", "x", "http://" + someFingerprint + "@h/", "culvert://h/", "culvert://" + someFingerprint + "@/a",
		"culvert://" + someFingerprint + ":secret@h/", "culvert://" + someFingerprint + "@h/a?b",
		"culvert://" + someFingerprint + "@h/a#b", "culvert://" + someFingerprint + "@h/../a",
		"culvert://" + someFingerprint + "@h/a//b", "culvert://" + someFingerprint[1:] + "@h/", "culvert://%zz@h/",
	} {
		if u, err := parseRemoteURL(text); exitCode(err) != exitUsage {
			t.Errorf("%q is %+v, %v", text, u, err)
		}
	}
}

// TestHintsOfUnreachable has a server that is not there, and one whose name nobody knows.
func TestHintsOfUnreachable(t *testing.T) {
	u, err := parseRemoteURL("culvert://" + someFingerprint + "@db.example")
	if err != nil {
		t.Fatal(err)
	}
	for want, cause := range map[string]error{
		"culvert serve runs there": syscall.ECONNREFUSED,
		"the name of the host":     &net.DNSError{Err: "no such host", Name: "db.example", IsNotFound: true},
	} {
		err := (&remote{url: u}).explain(&net.OpError{Op: "dial", Net: "tcp", Err: cause})
		hints := hintsOf(err)
		if exitCode(err) != exitUnreachable || len(hints) != 1 || !strings.Contains(hints[0], want) {
			t.Errorf("%v has the hints %q", err, hints)
		}
	}
}

func FuzzParseRemoteURL(f *testing.F) {
	f.Add("culvert://" + someFingerprint + "@db.example:7/a%20b")
	f.Add("culvert://" + someFingerprint + "@[fd00::2%25eth0]/a")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := parseRemoteURL(text)
		if err != nil {
			return
		}
		if again, err := parseRemoteURL(u.String()); err != nil || *again != *u {
			t.Errorf("%q is %+v, and its own form %q is %+v, %v", text, u, u, again, err)
		}
	})
}

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
