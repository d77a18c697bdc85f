package compress

import "github.com/klauspost/compress/gzip"

// gzipLevel is the default of the gzip program. On the data of zstdLevel:
//
//	klauspost 6   ratio 3.47   106 MB/s       gzip -6      ratio 3.55   34 MB/s
//	klauspost 5   ratio 3.43   120 MB/s       standard 6   ratio 3.67   37 MB/s
const gzipLevel = 6

// gzipEncoder makes gzip members, one at a time.
type gzipEncoder struct {
	writer *gzip.Writer
	out    appender
}

// appender is a writer that appends to a slice.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}

func (g *gzipEncoder) append(dst, text []byte) []byte {
	if g.writer == nil {
		w, err := gzip.NewWriterLevel(nil, gzipLevel)
		if err != nil {
			panic("compress: " + err.Error()) // the level is a constant
		}
		g.writer = w
	}
	g.out = dst
	g.writer.Reset(&g.out)
	// An appender does not fail, and a gzip.Writer has no errors of its own.
	if _, err := g.writer.Write(text); err != nil {
		panic("compress: " + err.Error())
	}
	if err := g.writer.Close(); err != nil {
		panic("compress: " + err.Error())
	}
	dst, g.out = g.out, nil
	return dst
}
