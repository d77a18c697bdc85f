package wire

import (
	"bytes"
	"io"
	"net"
	"testing"
)

// TestPatient reads what is sent in small pieces, some after a request, and some for long.
func TestPatient(t *testing.T) {
	server, client := net.Pipe()
	conn := newPatient(client)
	const size = 8 << 10
	for _, pieces := range []int{3, 3 * flow / size, 1} {
		want := make([]byte, pieces*size)
		for i := range want {
			want[i] = byte(i * i >> 8)
		}
		go func() {
			_, _ = io.ReadFull(server, make([]byte, 1)) // what fails shows in what is read
			for rest := want; len(rest) > 0; rest = rest[size:] {
				_, _ = server.Write(rest[:size])
			}
		}()
		if _, err := conn.Write([]byte{0}); err != nil {
			t.Fatal(err)
		}
		if conn.flowed.Load() != 0 {
			t.Error("a request does not end the flow")
		}
		got := make([]byte, len(want))
		for at := 0; at < len(got); {
			n, err := conn.Read(got[at:min(len(got), at+3*size)])
			if err != nil {
				t.Fatal(err)
			}
			at += n
			if conn.moment < least || conn.moment > most {
				t.Fatalf("it would wait for %v", conn.moment)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d pieces are read as others", pieces)
		}
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, size)); err != io.EOF {
		t.Error(err)
	}
}
