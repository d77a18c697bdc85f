package files

import (
	"os"
	"path/filepath"
	"slices"

	"culvert/bench/internal/harness"
)

// decrypted compares reading an encrypted export as if it were a CSV file with reading the CSV file, and with age and
// zstd on the server's own disk.
func (m *mounts) decrypted() (harness.Benchmark, error) {
	b := harness.Benchmark{Name: "MountDecrypt/format=csv/compression=zstd"}
	database, err := m.Postgres()
	if err != nil {
		return b, err
	}
	ageProgram, err := m.Build(".", "filippo.io/age/cmd/age")
	if err != nil {
		return b, err
	}
	if err := m.FillTable(database.Env, "orders", m.Size(3_000_000, 20_000)); err != nil {
		return b, err
	}
	encrypted, plain := filepath.Join(m.source, "orders.csv.zst.age"), filepath.Join(m.source, "plain.csv")
	export := m.command(m.transfers.culvert, "export", "postgres:", "orders", "--ordered", "-o", encrypted)
	export.Env = slices.Concat(database.Env, []string{"XDG_CONFIG_HOME=" + m.config})
	if err := m.Run(export); err != nil {
		return b, err
	}
	var size int64
	tools := func(output string) (harness.Sample, error) {
		return harness.Work{Bytes: size}.Between("client", nil, func() (harness.Sample, error) {
			return m.Pipeline(output, m.command(ageProgram, "-d", "-i", m.identityFile(), encrypted),
				m.command("zstd", "-q", "-d"))
		})
	}
	if _, err := tools(plain); err != nil {
		return b, err
	}
	info, err := os.Stat(plain)
	if err != nil {
		return b, err
	}
	size = info.Size()
	through := func(on mountable, name string) []harness.Variant {
		return m.variants([]mountable{on}, func(on *mounted) (harness.Sample, error) {
			if err := usePages(size); err != nil {
				return nil, err
			}
			got, err := m.read(on.path(name), size, on.trees...)
			if err != nil {
				return nil, err
			}
			return got, same(plain, on.path(name))
		})
	}
	b.Variants = slices.Concat([]harness.Variant{{Key: "impl=tools", Run: func() (harness.Sample, error) {
		got, err := tools(os.DevNull)
		if err == nil {
			got.SetSpeed(size)
		}
		return got, err
	}}}, through(m.culvertMount, "plain.csv"), through(m.decrypting, "orders.csv"))
	beside := func(peer string, least float64) harness.Goal {
		return harness.Goal{Variant: "impl=culvert-decrypt", Peer: peer, Unit: "MB/s", Min: least}
	}
	b.Goals = slices.Concat(
		harness.On(2, beside("impl=tools", 0.9)), harness.On(4, beside("impl=tools", 1)),
		[]harness.Goal{
			beside("impl=culvert", 0.3), {Variant: "impl=culvert-decrypt", Unit: "mount-peak-bytes", Max: mountMemory},
		})
	return b, nil
}
