package streams

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"culvert/bench/internal/harness"
	"culvert/internal/compress"
)

// codecFrame is the size of a frame, as exports have it.
const codecFrame = 1 << 20

// codecCase is the text of a table, in memory and as files of a frame each.
type codecCase struct {
	*harness.Session
	text  []byte
	files []string
}

// PrepareCodec compares the encoder of exports with others on five kinds of tables, each in frames of 1 MiB: how much
// smaller the text becomes, and how fast one core is at that, by processor time.
func PrepareCodec(s *harness.Session) ([]harness.Benchmark, error) {
	var benchmarks []harness.Benchmark
	for _, kind := range codecTables {
		if !s.Wants(codecName(kind.name)) {
			continue
		}
		c := &codecCase{Session: s, text: kind.make(s.Size(32<<20, 2<<20))}
		if err := c.write(kind.name); err != nil {
			return nil, err
		}
		benchmarks = append(benchmarks, harness.Benchmark{
			Name: codecName(kind.name), Rotate: true, Variants: c.variants(),
			Goals: []harness.Goal{
				{Variant: "impl=culvert", Peer: "impl=klauspost-fastest", Unit: "MB/s", Min: 1},
				{Variant: "impl=culvert", Peer: "impl=klauspost-fastest", Unit: "ratio", Min: 1},
			},
		})
	}
	return benchmarks, nil
}

func codecName(kind string) string { return "Codec/table=" + kind }

// write writes the text for programs.
func (c *codecCase) write(name string) error {
	dir := filepath.Join(c.Dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for frame := range c.frames() {
		file := filepath.Join(dir, fmt.Sprintf("%04d", len(c.files)))
		if err := os.WriteFile(file, frame, 0o600); err != nil {
			return err
		}
		c.files = append(c.files, file)
	}
	return nil
}

func (c *codecCase) frames() func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for rest := c.text; len(rest) > 0; {
			n := min(codecFrame, len(rest))
			if !yield(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

func (c *codecCase) variants() []harness.Variant {
	ours := compress.NewEncoder(compress.Zstd, 1)
	variants := []harness.Variant{{Key: "impl=culvert", Run: c.here(ours.AppendFrame)}}
	for name, level := range map[string]zstd.EncoderLevel{
		"fastest": zstd.SpeedFastest, "default": zstd.SpeedDefault, "better": zstd.SpeedBetterCompression,
	} {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(codecFrame))
		if err != nil {
			panic(err) // the options are constants
		}
		variants = append(variants, harness.Variant{
			Key: "impl=klauspost-" + name, Run: c.here(func(dst, text []byte) []byte { return e.EncodeAll(text, dst) }),
		})
	}
	for level := range 6 {
		variants = c.program(variants, fmt.Sprint("zstd", level+1), "zstd", "-q", "-c", "--single-thread",
			"-"+strconv.Itoa(level+1))
	}
	return c.program(variants, "lz4", "lz4", "-q", "-c", "-m", "-1")
}

// here returns a run of an encoder in this program.
func (c *codecCase) here(encode func(dst, text []byte) []byte) harness.Run {
	dst := make([]byte, 0, 2*codecFrame)
	return func() (harness.Sample, error) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		size := 0
		got, err := harness.Work{Bytes: int64(len(c.text))}.Here(func() error {
			size = 0
			for frame := range c.frames() {
				dst = encode(dst[:0], frame)
				size += len(dst)
			}
			return nil
		})
		return c.measured(got, size), err
	}
}

// program adds a program that makes a frame of each file, if it is installed.
func (c *codecCase) program(variants []harness.Variant, name string, args ...string) []harness.Variant {
	if _, err := exec.LookPath(args[0]); err != nil {
		c.Say("%s is not installed, and not compared", args[0])
		return variants
	}
	out := filepath.Join(c.Dir, "compressed")
	return append(variants, harness.Variant{Key: "impl=" + name, Run: func() (harness.Sample, error) {
		got, err := c.Pipeline(out, exec.CommandContext(c.Ctx, args[0], append(args[1:], c.files...)...))
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(out)
		if err != nil {
			return nil, err
		}
		return c.measured(got, int(info.Size())), nil
	}})
}

// measured adds the ratio, and makes the speed that of processor time: other work on the machine does not count.
func (c *codecCase) measured(got harness.Sample, size int) harness.Sample {
	if got == nil {
		return nil
	}
	text, spent := float64(len(c.text)), got["cpu-ns/op"]
	return harness.Sample{
		"ns/op": got["ns/op"], "cpu-ns/op": spent, "cpu-s/GiB": spent / 1e9 / text * (1 << 30),
		"MB/s": text / spent * 1e3, "ratio": text / float64(size),
	}
}

// codecTables are the kinds of tables, as CSV or JSON Lines.
var codecTables = []struct {
	name string
	make func(size int) []byte
}{
	{"text", textTable}, {"numbers", numberTable}, {"uuids", uuidTable}, {"json", jsonTable}, {"sparse", sparseTable},
}

// rowsOf appends rows, which count from 1, until the text has a size.
func rowsOf(size int, row func(b *bytes.Buffer, i int)) []byte {
	var b bytes.Buffer
	for i := 1; b.Len() < size; i++ {
		row(&b, i)
	}
	return b.Bytes()[:size]
}
