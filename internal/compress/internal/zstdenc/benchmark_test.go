package zstdenc_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"culvert/internal/compress/internal/zstdenc"
)

// orders returns at least size bytes of the table of the module bench, as CSV or as JSON Lines.
func orders(size int, format string) []byte {
	words := strings.Fields("river stone letter garden window copper signal harbour winter market bridge paper " +
		"engine forest island candle")
	r := rand.New(rand.NewPCG(1, 1))
	word := func(i int) string { return words[i%len(words)] }
	var b bytes.Buffer
	for i := 1; b.Len() < size; i++ {
		title := fmt.Sprintf("%s %s, %s \"%s\" %016x%016x", word(i*31), word(i*37), word(i/7), word(i/11),
			r.Uint64(), r.Uint64())
		attributes := fmt.Sprintf(`{"n": %d, "tag": "%s"}`, i%977, word(i))
		if format == csvOrders {
			title, attributes = strings.ReplaceAll(title, `"`, `""`), strings.ReplaceAll(attributes, `"`, `""`)
		} else {
			title = strings.ReplaceAll(title, `"`, `\"`)
		}
		created := time.Unix(1577836800+int64(i*1299709%157680000), int64(i%1000)*1e6).UTC()
		fmt.Fprintf(&b, format, i, i*7919%1000003, title, float64(i*104729%10000019)/100,
			created.Format("2006-01-02 15:04:05.000"), i%3 == 0, attributes, word(i*13)+" "+word(i*17))
	}
	return b.Bytes()
}

const (
	csvOrders  = `%d,%d,"%s",%.2f,%s+00,%t,"%s",%s` + "\n"
	jsonOrders = `{"id":%d,"customer":%d,"title":"%s","amount":%.2f,"created":"%s+00:00","done":%t,"attributes":%s,` +
		`"note":"%s"}` + "\n"
)

// readings returns at least size bytes of CSV that is nearly all digits.
func readings(size int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	for i := 1; b.Len() < size; i++ {
		at = at.Add(time.Duration(r.IntN(2000)) * time.Millisecond)
		fmt.Fprintf(&b, "%d,%s,%d,%.3f,%.5f\n", i, at.Format("2006-01-02 15:04:05.000"), r.IntN(1000),
			1000*r.Float64(), 10*r.Float64())
	}
	return b.Bytes()
}

// BenchmarkAppendFrame compresses three kinds of text in frames of 1 MiB, beside the usual encoder and the zstd
// program. MB/s of the program are of its processor time.
func BenchmarkAppendFrame(b *testing.B) {
	const frame, size = 1 << 20, 8 << 20 // bytes
	usual, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(frame), zstd.WithLowerEncoderMem(true))
	if err != nil {
		b.Fatal(err)
	}
	var e zstdenc.Encoder
	for _, of := range []struct {
		name string
		text []byte
	}{{"csv", orders(size, csvOrders)}, {"jsonl", orders(size, jsonOrders)}, {"digits", readings(size)}} {
		text := of.text[:size]
		inFrames := func(encode func(dst, text []byte) []byte) func(*testing.B) {
			return func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				dst, total := make([]byte, 0, 2*frame), 0
				for b.Loop() {
					total = 0
					for at := 0; at < len(text); at += frame {
						dst = encode(dst[:0], text[at:at+frame])
						total += len(dst)
					}
				}
				b.ReportMetric(float64(len(text))/float64(total), "ratio")
			}
		}
		b.Run("text="+of.name+"/impl=zstdenc", inFrames(e.AppendFrame))
		b.Run("text="+of.name+"/impl=klauspost", inFrames(func(dst, text []byte) []byte {
			return usual.EncodeAll(text, dst)
		}))
		b.Run("text="+of.name+"/impl=zstd-1", func(b *testing.B) { program(b, text) })
	}
}

// program compresses a text with the zstd program.
func program(b *testing.B, text []byte) {
	var used time.Duration
	var size int64
	for b.Loop() {
		cmd := exec.Command("zstd", "-q", "-1", "-c", "--single-thread")
		cmd.Stdin = bytes.NewReader(text)
		var out counter
		cmd.Stdout = &out
		if err := cmd.Run(); err != nil {
			b.Skip("the zstd program: ", err)
		}
		used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		size = int64(out)
	}
	b.ReportMetric(float64(len(text))*float64(b.N)/1e6/used.Seconds(), "MB/s")
	b.ReportMetric(float64(len(text))/float64(size), "ratio")
}

// counter counts what is written to it.
type counter int64

var _ io.Writer = (*counter)(nil)

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
