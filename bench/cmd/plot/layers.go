package main

import "strings"

// layer is one storey of the way from memory to a mount: what it can do at best, what others do there, and ours.
type layer struct {
	title string
	of    func(*recording) *recording
	impls [3]string // the limit, a peer, ours
	names [3]string
	found string // what the title of the figure says of the peer; "" for nothing
}

var allLayers = []layer{
	{
		"in memory, through net.Pipe",
		func(r *recording) *recording { return r.of("Pipe").where("write", "1048576") },
		[3]string{"pipe", "after", "culvert"},
		[3]string{"not encrypted", "as KeibiDrop does it", "secureconn"},
		"",
	},
	{
		"over loopback TCP",
		func(r *recording) *recording { return r.of("Stream").where("conns", "1", "write", "1048576") },
		[3]string{"tcp", "tls", "culvert"},
		[3]string{"not encrypted", "crypto/tls", "secureconn"},
		"crypto/tls",
	},
	{
		"by fileservice, into memory",
		func(r *recording) *recording { return r.of("FileRead").where("conns", "4") },
		[3]string{"plain", "tls", "culvert"},
		[3]string{"not encrypted", "over crypto/tls", "over secureconn"},
		"",
	},
	{
		"copied to the disk",
		func(r *recording) *recording { return r.of("Pull").where("path", "loopback", "files", "1") },
		[3]string{"cp-sync", "scp", "culvert"},
		[3]string{"cp and sync, not encrypted", "scp", "culvert pull"},
		"scp",
	},
	{
		"read through a mount",
		func(r *recording) *recording { return r.of("MountRead").where("cache", "cold") },
		[3]string{"gofuse", "sshfs", "culvert"},
		[3]string{"go-fuse, from memory", "sshfs", "culvert mount"},
		"sshfs",
	},
}

// layers draws all of them, each with the same three bars, so that what a layer costs is seen from one to the next.
func layers(r *recording) chart {
	shown := &recording{facts: r.facts}
	var groups []group
	var found []string
	for _, l := range allLayers {
		some := l.of(r)
		c := comparison{unit: "MB/s", peer: l.impls[1], labels: map[string]string{}}
		g := group{title: l.title}
		for i, role := range []role{limit, peer, ours} {
			c.labels[l.impls[i]] = l.names[i]
			of := some.where("impl", l.impls[i])
			shown.samples = append(shown.samples, of.samples...)
			for _, b := range c.bars(of) {
				b.role = role
				g.bars = append(g.bars, b)
			}
		}
		ratio, ok := c.speedUp(some, "culvert")
		if !ok {
			return nil
		}
		g.bars[len(g.bars)-1].note = times(ratio) + " as fast"
		groups = append(groups, g)
		if l.found != "" {
			found = append(found, times(ratio)+" "+l.found)
		}
	}
	return &bars{
		heading{
			"From memory to a mount, encrypted: " + strings.Join(found, ", "),
			measured(shown, "loopback"),
		},
		fit(axis{label: "MB per second" + powersOfTen, unit: "MB/s", log: true}, groups), groups,
	}
}
