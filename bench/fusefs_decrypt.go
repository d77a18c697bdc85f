package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// decrypted compares reading an encrypted export as if it were a CSV file with reading the CSV file, and with age and
// zstd on the server's own disk.
func (m *mounts) decrypted() (benchmark, error) {
	b := benchmark{name: "MountDecrypt/format=csv/compression=zstd"}
	env, err := m.postgres()
	if err != nil {
		return b, err
	}
	ageProgram, err := m.build(".", "filippo.io/age/cmd/age")
	if err != nil {
		return b, err
	}
	if err := m.fillTable(env, "orders", m.size(3_000_000, 20_000)); err != nil {
		return b, err
	}
	encrypted, plain := filepath.Join(m.source, "orders.csv.zst.age"), filepath.Join(m.source, "plain.csv")
	export := m.command(m.transfers.culvert, "export", "postgres:", "orders", "--ordered", "-o", encrypted)
	export.Env = slices.Concat(env, []string{"XDG_CONFIG_HOME=" + m.config})
	if err := m.run(export); err != nil {
		return b, err
	}
	tools := func(output string) (sample, error) {
		return m.pipeline(output, m.command(ageProgram, "-d", "-i", m.identityFile(), encrypted),
			m.command("zstd", "-q", "-d"))
	}
	if _, err := tools(plain); err != nil {
		return b, err
	}
	info, err := os.Stat(plain)
	if err != nil {
		return b, err
	}
	speed := func(got sample, err error) (sample, error) {
		if err == nil {
			got["MB/s"] = float64(info.Size()) / 1e6 / (got["ns/op"] / 1e9)
		}
		return got, err
	}
	through := func(name string) func(string) (sample, error) {
		return func(dir string) (sample, error) {
			if err := usePages(info.Size()); err != nil {
				return nil, err
			}
			got, err := m.read(filepath.Join(dir, name), info.Size())
			if err != nil {
				return nil, err
			}
			return got, same(plain, filepath.Join(dir, name))
		}
	}
	m.say("%d bytes of CSV are %s encrypted", info.Size(), sizeOfFile(encrypted))
	b.variants = append([]variant{{"impl=tools", func() (sample, error) { return speed(tools(os.DevNull)) }}},
		append(m.variants([]mountable{m.culvertMount}, through("plain.csv")),
			m.variants([]mountable{m.decrypting}, through("orders.csv"))...)...)
	b.goals = []goal{
		{variant: "impl=culvert-decrypt", peer: "impl=culvert", unit: "MB/s", min: 0.3},
		{variant: "impl=culvert-decrypt", peer: "impl=tools", unit: "MB/s", min: 1},
		{variant: "impl=culvert-decrypt", unit: "mount-peak-bytes", max: mountMemory},
	}
	return b, nil
}

func sizeOfFile(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return "?"
	}
	return fmt.Sprint(info.Size())
}
