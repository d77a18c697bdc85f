package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"culvert/bench/internal/harness"
)

// decrypted compares reading an encrypted export as if it were a CSV file with reading the CSV file, and with age and
// zstd on the server's own disk.
func (m *mounts) decrypted() (harness.Benchmark, error) {
	b := harness.Benchmark{Name: "MountDecrypt/format=csv/compression=zstd"}
	env, err := m.Postgres()
	if err != nil {
		return b, err
	}
	ageProgram, err := m.Build(".", "filippo.io/age/cmd/age")
	if err != nil {
		return b, err
	}
	if err := m.FillTable(env, "orders", m.Size(3_000_000, 20_000)); err != nil {
		return b, err
	}
	encrypted, plain := filepath.Join(m.source, "orders.csv.zst.age"), filepath.Join(m.source, "plain.csv")
	export := m.command(m.transfers.culvert, "export", "postgres:", "orders", "--ordered", "-o", encrypted)
	export.Env = slices.Concat(env, []string{"XDG_CONFIG_HOME=" + m.config})
	if err := m.Run(export); err != nil {
		return b, err
	}
	tools := func(output string) (harness.Sample, error) {
		return m.Pipeline(output, m.command(ageProgram, "-d", "-i", m.identityFile(), encrypted),
			m.command("zstd", "-q", "-d"))
	}
	if _, err := tools(plain); err != nil {
		return b, err
	}
	info, err := os.Stat(plain)
	if err != nil {
		return b, err
	}
	speed := func(got harness.Sample, err error) (harness.Sample, error) {
		if err == nil {
			got["MB/s"] = float64(info.Size()) / 1e6 / (got["ns/op"] / 1e9)
		}
		return got, err
	}
	through := func(name string) func(string) (harness.Sample, error) {
		return func(dir string) (harness.Sample, error) {
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
	m.Say("%d bytes of CSV are %s encrypted", info.Size(), sizeOfFile(encrypted))
	b.Variants = append([]harness.Variant{{Key: "impl=tools", Run: func() (harness.Sample, error) {
		return speed(tools(os.DevNull))
	}}},
		append(m.variants([]mountable{m.culvertMount}, through("plain.csv")),
			m.variants([]mountable{m.decrypting}, through("orders.csv"))...)...)
	b.Goals = []harness.Goal{
		{Variant: "impl=culvert-decrypt", Peer: "impl=culvert", Unit: "MB/s", Min: 0.3},
		{Variant: "impl=culvert-decrypt", Peer: "impl=tools", Unit: "MB/s", Min: 1},
		{Variant: "impl=culvert-decrypt", Unit: "mount-peak-bytes", Max: mountMemory},
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
