package wire

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"culvert/fileservice"
	pb "culvert/fileservice/internal/fileservicepb"
	"culvert/internal/testkit"
)

// cut makes a message of several buffers.
func cut(p []byte, size int) mem.BufferSlice {
	var parts mem.BufferSlice
	for len(p) > 0 {
		n := min(size, len(p))
		parts = append(parts, mem.SliceBuffer(p[:n]))
		p = p[n:]
	}
	return parts
}

func TestOutgoingIsProtocolBuffers(t *testing.T) {
	sum := fileservice.SumBlock([]byte("x"), 0, 1)
	for name, message := range map[string]*Outgoing{
		"empty": {},
		"data":  {Data: mem.SliceBuffer("hello")},
		"both":  {Data: mem.SliceBuffer(bytes.Repeat([]byte("x"), 70000)), Hash: &sum},
		"all": {
			Data: mem.SliceBuffer("hello"), Hash: &sum,
			Fields: &pb.WriteRequest{Path: "a/b", Version: VersionMessage(fileservice.Version{Size: 5}), FirstBlock: 7},
		},
	} {
		parts, err := NewCodec().Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		var got pb.WriteRequest
		if err := proto.Unmarshal(parts.Materialize(), &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if message.Data != nil && !bytes.Equal(got.GetData(), message.Data.ReadOnlyData()) {
			t.Errorf("%s: other data", name)
		}
		if message.Hash != nil && !bytes.Equal(got.GetHash(), sum[:]) {
			t.Errorf("%s: another hash", name)
		}
		if name == "all" && (got.GetPath() != "a/b" || got.GetFirstBlock() != 7 || got.GetVersion().GetSize() != 5) {
			t.Errorf("%s: other fields: %v", name, &got)
		}
	}
}

// FuzzIncoming compares the reader of messages that carry data with that of package proto.
func FuzzIncoming(f *testing.F) {
	sum := fileservice.SumBlock(nil, 0, 0)
	for _, m := range []*pb.WriteRequest{
		{},
		{Data: []byte("hello")},
		{Data: make([]byte, 300), Hash: sum[:]},
		{
			Data: []byte("x"), Path: "a", FirstBlock: -1,
			Version: VersionMessage(fileservice.Version{Size: 1, Tag: 1 << 63}),
		},
		{Hash: []byte("short")},
	} {
		p, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p, 3)
		f.Add(p[:len(p)/2], 1)
	}
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 2)
	f.Fuzz(func(t *testing.T, p []byte, size int) {
		var fields, want pb.WriteRequest
		into := make([]byte, 1000)
		got := Incoming{Into: into[:500], Fields: &fields}
		err := NewCodec().Unmarshal(cut(p, max(1, size)), &got)
		if !bytes.Equal(into[500:], make([]byte, 500)) {
			t.Fatal("it has written behind where it may")
		}
		if err != nil {
			return // it takes less than package proto: bounded fields, hashes of 32 bytes, no groups
		}
		if err := proto.Unmarshal(p, &want); err != nil {
			t.Fatalf("package proto refuses what was taken: %v", err)
		}
		if !bytes.Equal(into[:got.N], want.GetData()) || got.Hashed != (len(want.GetHash()) > 0) ||
			got.Hashed && !bytes.Equal(got.Hash[:], want.GetHash()) {
			t.Errorf("%d bytes, hash %v, instead of %v", got.N, got.Hashed, &want)
		}
		want.Data, want.Hash = nil, nil
		want.ProtoReflect().SetUnknown(nil) // of fields that are not known the bytes may differ
		fields.ProtoReflect().SetUnknown(nil)
		if !proto.Equal(&fields, &want) {
			t.Errorf("%v instead of %v", &fields, &want)
		}
	})
}

// FuzzIncomingRoom has the reader ask for room when it knows how much comes.
func FuzzIncomingRoom(f *testing.F) {
	const most = 500
	for _, m := range []*pb.WriteDraftRequest{
		{},
		{Data: []byte("hello"), Offset: -1},
		{Data: make([]byte, 300), Draft: make([]byte, 16), Offset: 1 << 62},
		{Data: make([]byte, most+1)},
	} {
		p, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p, 3)
		f.Add(append(p, p...), 7)
		f.Add(p[:len(p)/2], 1)
	}
	f.Fuzz(func(t *testing.T, p []byte, size int) {
		var fields, want pb.WriteDraftRequest
		got := Incoming{Fields: &fields, Room: func(n int) ([]byte, error) {
			if n < 0 || n > len(p) {
				t.Fatalf("room for %d bytes of a message of %d", n, len(p))
			}
			return make([]byte, min(n, most)), nil
		}}
		if err := NewCodec().Unmarshal(cut(p, max(1, size)), &got); err != nil {
			return
		}
		if err := proto.Unmarshal(p, &want); err != nil {
			t.Fatalf("package proto refuses what was taken: %v", err)
		}
		if !bytes.Equal(got.Into[:got.N], want.GetData()) || fields.GetOffset() != want.GetOffset() ||
			!bytes.Equal(fields.GetDraft(), want.GetDraft()) {
			t.Errorf("%d bytes, %v instead of %v", got.N, &fields, &want)
		}
	})
}

func TestIncomingDoesNotAllocate(t *testing.T) {
	sum := fileservice.SumBlock(nil, 0, 0)
	p, err := proto.Marshal(&pb.ReadResponse{Data: make([]byte, MessageSize), Hash: sum[:]})
	if err != nil {
		t.Fatal(err)
	}
	parts := cut(p, 16<<10)
	message := Incoming{Into: make([]byte, MessageSize)}
	testkit.Allocs(t, 0, func() {
		if err := message.Unmarshal(parts); err != nil || message.N != MessageSize || !message.Hashed {
			t.Fatal(message.N, err)
		}
	})
}
