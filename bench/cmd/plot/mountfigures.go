package main

import (
	"fmt"
	"strings"
)

var mountLabels = map[string]string{
	"sshfs": "sshfs", "sshfs-tuned": "sshfs, tuned", "gofuse": "go-fuse, from memory", "culvert": "culvert mount",
	"files": "ext4, page cache", "tools": "age -d | zstd -d", "culvert-decrypt": "mount --decrypt",
}

// mountSpeed draws a large file that is read, and one that is written.
func mountSpeed(r *recording) chart {
	c := comparison{unit: "MB/s", peer: "sshfs", labels: mountLabels}
	var groups []group
	var found []string
	for _, work := range []struct {
		of          *recording
		title, verb string
	}{
		{r.of("MountRead").where("cache", "cold"), "read for the first time", "read"},
		{r.of("MountWrite"), "written, and read by the other side", "written"},
	} {
		if ratio, ok := c.speedUp(work.of, "culvert"); ok {
			groups = append(groups, group{work.title, c.bars(work.of)})
			found = append(found, work.verb+" "+times(ratio))
		}
	}
	if len(groups) == 0 {
		return nil
	}
	return &bars{
		heading{"A mount: " + strings.Join(found, ", ") + " as fast as sshfs", measured(r, "1 GiB, dd, loopback")},
		fit(axis{label: speedLabel, unit: c.unit}, groups), groups,
	}
}

// mountAgain draws what is in the page cache.
func mountAgain(r *recording) chart {
	c := comparison{unit: "MB/s", peer: "files", labels: mountLabels}
	return oneGroup(r.where("cache", "warm"), c, "Read again through a mount: %s as fast as the file itself", "dd")
}

// mountFiles draws the time of many small reads.
func mountFiles(r *recording) chart {
	c := comparison{unit: "ns/op", peer: "sshfs", labels: mountLabels}
	var groups []group
	var found []string
	for _, work := range []struct{ benchmark, key, title, program string }{
		{"MountList", "files", "ls -lR, %s files", "ls"},
		{"MountGrep", "files", "grep -r, %s files", "grep"},
		{"MountRandom", "reads", "%s reads of 4 KiB, 16 threads", "random reads"},
	} {
		some := r.of(work.benchmark)
		if ratio, ok := c.speedUp(some, "culvert"); ok {
			title := fmt.Sprintf(work.title, countOf(some, work.key))
			groups = append(groups, group{title, c.bars(some)})
			found = append(found, work.program+" "+times(ratio))
		}
	}
	if len(groups) == 0 {
		return nil
	}
	return &bars{
		heading{
			"Through a mount: " + strings.Join(found, ", ") + " as fast as sshfs",
			measured(r, "nothing cached"),
		},
		fit(axis{label: "time; less is better", unit: c.unit}, groups), groups,
	}
}

// countOf gives the only value of a key as people write it.
func countOf(r *recording, key string) string {
	for _, value := range r.distinct(key) {
		if n, err := count(value); err == nil {
			return axis{unit: "rows"}.brief(n)
		}
	}
	return "many"
}

// mountDecrypt draws an encrypted export that is read as a CSV file.
func mountDecrypt(r *recording) chart {
	c := comparison{unit: "MB/s", peer: "tools", labels: mountLabels}
	ratio, ok := c.speedUp(r, "culvert-decrypt")
	if !ok {
		return nil
	}
	var shown []bar
	for _, impl := range []string{"tools", "culvert-decrypt", "culvert"} {
		for _, b := range c.bars(r.where("impl", impl)) {
			b.note = ""
			switch impl {
			case "culvert":
				b.label, b.role = "the same, not encrypted", limit
			case "culvert-decrypt":
				b.note = times(ratio) + " as fast"
			}
			shown = append(shown, b)
		}
	}
	groups := []group{{"", shown}}
	return &bars{
		heading{
			"An encrypted export, read through a mount: " + times(ratio) + " as fast as age and zstd",
			measured(r, "CSV"),
		},
		fit(axis{label: "MB of CSV per second; more is better", unit: c.unit}, groups), groups,
	}
}

// mountMemory shows that a large file takes no more than a small one.
func mountMemory(r *recording) chart {
	return memoryOverSize(r, "culvert mount", "mount-peak-bytes")
}
