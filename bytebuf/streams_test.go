package bytebuf_test

import (
	"io"

	"culvert/bytebuf"
)

// What a scriptReader can do in one Read.
const (
	readData = iota
	readDataAgain
	readDataThird
	readEOF
	readError
	readNegative
	readTooMuch
	readPanic
	readKinds
)

// readStep is one Read.
type readStep struct {
	kind int
	data []byte // at most bytebuf.MinRead
}

// newReadScript takes up to eight steps of the input; the last ones are EOF.
func newReadScript(input *program) []readStep {
	steps := make([]readStep, input.next()%8)
	for i := range steps {
		steps[i] = readStep{kind: input.next() % readKinds, data: input.text(min(input.size(), bytebuf.MinRead))}
	}
	return steps
}

// scriptReader is an io.Reader that does as it is told.
type scriptReader struct{ steps []readStep }

func (r *scriptReader) Read(p []byte) (int, error) {
	if len(p) < bytebuf.MinRead {
		panic("less room than promised")
	}
	for i := range p {
		p[i] = 0xEE // readers may use all of it
	}
	if len(r.steps) == 0 {
		return 0, io.EOF
	}
	step := r.steps[0]
	r.steps = r.steps[1:]
	n := copy(p, step.data)
	switch step.kind {
	case readEOF:
		return n, io.EOF
	case readError:
		return n, errStream
	case readNegative:
		return -1 - n, nil
	case readTooMuch:
		return len(p) + 1 + n, nil
	case readPanic:
		panic(errStream)
	default:
		return n, nil
	}
}

// What a scriptWriter can do.
const (
	writeAll = iota
	writeShort
	writeShortError
	writeAllError
	writeNone
	writeTooMuch
	writeNegative
	writePanic
	writeKinds
)

type writeStep struct {
	kind int
	n    int // for those kinds that need a number
}

// scriptWriter is an io.Writer that does as it is told, and keeps what it was given.
type scriptWriter struct {
	step writeStep
	got  []byte
}

func (w *scriptWriter) Write(p []byte) (int, error) {
	w.got = append(w.got, p...)
	switch w.step.kind {
	case writeShort:
		return min(len(p), w.step.n), nil
	case writeShortError:
		return min(len(p), w.step.n), errStream
	case writeAllError:
		return len(p), errStream
	case writeNone:
		return 0, nil
	case writeTooMuch:
		return len(p) + 1 + w.step.n, nil
	case writeNegative:
		return -w.step.n, nil
	case writePanic:
		panic(errStream)
	default:
		return len(p), nil
	}
}
