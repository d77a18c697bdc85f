package bytebuf_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"culvert/bytebuf"
)

// FuzzBuffer calls the methods that its input names on a Buffer and on a bytes.Buffer, which must answer the same.
// Meanwhile other Buffers come and go, so that memory that was handed on too early is soon overwritten.
func FuzzBuffer(f *testing.F) {
	random := rand.NewChaCha8([32]byte{1})
	for range 100 {
		input := make([]byte, 300)
		random.Read(input)
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input []byte) { newSequence(t, input).run() })
}

// TestSameMethods fails if a later Go adds methods to bytes.Buffer.
func TestSameMethods(t *testing.T) {
	original, compared := reflect.TypeFor[*bytes.Buffer](), reflect.TypeFor[buffer]()
	for i := range original.NumMethod() {
		method := original.Method(i)
		if _, ok := compared.MethodByName(method.Name); !ok {
			t.Errorf("bytes.Buffer has %s: add it to Buffer and to what FuzzBuffer compares", method.Name)
		}
	}
}

// sequence is a sequence of calls with the same results on both.
type sequence struct {
	t     *testing.T
	input program
	trace []string

	ours   *bytebuf.Buffer
	theirs *bytes.Buffer
	pool   *bytebuf.Pool // that has lent ours, or nil

	grown   bool         // by Grow, after which it depends on the capacity what an Unread does
	slices  []handedOut  // of the memory that ours has now
	retired []handedOut  // of memory that it had before
	taken   [][2]string  // strings of TakeString, and clones of them
	others  []*neighbour // Buffers at work beside ours
}

// handedOut is a slice of a Buffer, and what it held when the Buffer went over to other memory.
type handedOut struct{ slice, content []byte }

// program is the input as a sequence of small decisions.
type program struct{ rest []byte }

func (p *program) next() int {
	if len(p.rest) == 0 {
		return 0
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return int(b)
}

// size is a count of bytes near a border more often than not.
func (p *program) size() int {
	borders := [...]int{0, 1, 2, 5, 20, 62, 63, 64, 65, 127, 128, 200, 511, 512, 513, 1000, 2048, 5000}
	return borders[p.next()%len(borders)]
}

// text is content that tells from where it is: ASCII, longer code points, and bytes that are not UTF-8.
func (p *program) text(size int) []byte {
	seed := p.next()
	text := make([]byte, 0, size+4)
	for i := seed; len(text) < size; i++ {
		switch i % 23 {
		case 7:
			text = append(text, "é"...)
		case 11:
			text = append(text, "€"...)
		case 15:
			text = append(text, "𝄞"...)
		case 19:
			text = append(text, 0xC3, 0xFF)
		default:
			text = append(text, 'a'+byte(i%26))
		}
	}
	return text[:size]
}

func newSequence(t *testing.T, input []byte) *sequence {
	s := &sequence{t: t, input: program{rest: input}}
	switch s.input.next() % 5 {
	case 0:
		s.ours, s.theirs = new(bytebuf.Buffer), new(bytes.Buffer)
	case 1:
		s.ours, s.theirs = bytebuf.New(), new(bytes.Buffer)
	case 2:
		content, capacity := s.input.text(s.input.size()), s.input.size()
		make := func() []byte { return append(make([]byte, 0, len(content)+capacity), content...) }
		s.ours, s.theirs = bytebuf.NewBuffer(make()), bytes.NewBuffer(make())
	case 3:
		content := string(s.input.text(s.input.size()))
		s.ours, s.theirs = bytebuf.NewBufferString(content), bytes.NewBufferString(content)
	case 4:
		s.pool = bytebuf.NewPool(bytebuf.Class{Size: 1, Count: 1}, bytebuf.Class{Size: 600, Count: 1})
		s.borrow()
	}
	return s
}

// borrow starts anew with a Buffer of the Pool.
func (s *sequence) borrow() {
	n := s.input.next() % 600
	s.ours, s.theirs = s.pool.TryGet(n), new(bytes.Buffer)
	if s.ours == nil {
		s.t.Fatalf("%s: no Buffer of %d bytes, though it was freed", s, n)
	}
	if available := s.ours.Available(); available < n || s.ours.Len() != 0 || s.ours.Cap() != available {
		s.t.Fatalf("%s: lent with %d of %d bytes available", s, available, s.ours.Cap())
	}
}

func (s *sequence) run() {
	for calls := 0; len(s.input.rest) > 0 && calls < 300 && s.theirs.Len() < 1<<18; calls++ {
		op := operations[s.input.next()%len(operations)]
		s.trace = append(s.trace, op.name)
		before := s.ours.Cap()
		grown := s.grown
		op.run(s)
		if !op.keepsRead {
			s.grown = op.name == "Grow"
		} else {
			s.grown = grown
		}
		s.check()
		s.disturb(before)
	}
	s.ours.Free()
	if s.pool != nil {
		s.retired = nil
	}
	s.disturb(64)
	for _, other := range s.others {
		other.leave(s)
	}
	for _, r := range s.retired {
		if !bytes.Equal(r.slice, r.content) {
			s.t.Fatalf("%s: a slice of memory that was outgrown and not freed changed from %.40q to %.40q",
				s, r.content, r.slice)
		}
	}
	for _, taken := range s.taken {
		if taken[0] != taken[1] {
			s.t.Fatalf("%s: a string that was taken changed from %.40q to %.40q", s, taken[1], taken[0])
		}
	}
}

// String gives the last calls.
func (s *sequence) String() string { return strings.Join(s.trace[max(0, len(s.trace)-12):], " ") }

// both makes the same calls on both and compares what they return. Calls are described by their results.
func (s *sequence) both(calls func(b buffer) string) {
	s.t.Helper()
	s.lookAtSlices()
	before := s.ours.Cap()
	got, want := attempt(s.ours, calls), attempt(s.theirs, calls)
	if got != want {
		s.t.Fatalf("%s:\n got %.200s\nwant %.200s", s, got, want)
	}
	if s.ours.Cap() != before {
		s.retire()
	}
}

// lookAtSlices notes what the slices of the memory hold now, which calls that do not move elsewhere may change.
func (s *sequence) lookAtSlices() {
	for i := range s.slices {
		s.slices[i].content = append(s.slices[i].content[:0], s.slices[i].slice...)
	}
}

// retire notes that the memory is no longer that of the Buffer.
func (s *sequence) retire() {
	s.retired = append(s.retired, s.slices...)
	s.slices = nil
}

// handOut keeps a slice of ours and looks at it later.
func (s *sequence) handOut(slice []byte) {
	const enough = 8
	if len(slice) > 0 && len(s.slices) < enough {
		s.slices = append(s.slices, handedOut{slice: slice[:min(len(slice), 1000)]})
	}
}

func (s *sequence) check() {
	s.t.Helper()
	got, want := s.ours.String(), s.theirs.String()
	if got != want {
		s.t.Fatalf("%s:\ncontent of %d bytes %.100q\n   want of %d bytes %.100q", s, len(got), got, len(want), want)
	}
	length, available, capacity := s.ours.Len(), s.ours.Available(), s.ours.Cap()
	if length != len(got) || available < 0 || length+available > capacity {
		s.t.Fatalf("%s: Len %d of %d, Available %d, Cap %d", s, length, len(got), available, capacity)
	}
}

// disturb lets another Buffer come that needs as much memory as ours had, and one go that came before.
func (s *sequence) disturb(size int) {
	s.others = append(s.others, newNeighbour(len(s.trace), min(size, 1<<14)))
	if len(s.others) > 3 {
		s.others[0].leave(s)
		s.others = s.others[1:]
	}
}

// neighbour is a Buffer full of one byte.
type neighbour struct {
	buffer  bytebuf.Buffer
	content []byte
}

func newNeighbour(number, size int) *neighbour {
	n := &neighbour{content: bytes.Repeat([]byte{byte(0x80 | number)}, size)}
	n.buffer.Write(n.content[:size/2])
	n.buffer.Write(n.content[size/2:])
	return n
}

func (n *neighbour) leave(who fmt.Stringer) {
	if got := n.buffer.String(); got != string(n.content) {
		panic(fmt.Sprintf("%s: another Buffer has %.40q instead of %.40q", who, got, n.content))
	}
	n.buffer.Free()
}
