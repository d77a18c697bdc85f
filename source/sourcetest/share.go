package sourcetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"culvert/source"
)

func share(t *testing.T, src source.Source) source.Snapshot {
	t.Helper()
	snapshot, err := src.(source.Sharer).Share(context.Background())
	if err != nil {
		t.Fatal("Share:", err)
	}
	if snapshot.Token == "" || snapshot.Server == "" || snapshot.Database == "" || snapshot.State == "" {
		t.Fatalf("the snapshot lacks something: %+v", snapshot)
	}
	return snapshot
}

// join returns a source that has joined a snapshot, and a function that closes it. At the end of the test, it is
// closed.
func join(t *testing.T, src source.Source, snapshot source.Snapshot) (joined source.Source, closeNow func()) {
	t.Helper()
	joined, err := src.(source.Sharer).Join(context.Background(), snapshot)
	if err != nil {
		t.Fatal("Join:", err)
	}
	return joined, closing(t, joined)
}

// closing returns a function that closes a source, which is called at the end of the test if not before.
func closing(t *testing.T, src source.Source) func() {
	closeNow := sync.OnceFunc(func() {
		if err := src.Close(); err != nil {
			t.Errorf("closing the source: %v", err)
		}
	})
	t.Cleanup(closeNow)
	return closeNow
}

// testShare hands a snapshot from source to source, each of which closes after that, while the table changes. The last
// one reads the parts that the first one has cut.
func testShare(t *testing.T, f *Fixture) {
	f.createParted(t, "shared_t")
	first := f.Open(t)
	closeHolder := closing(t, first)
	want := readTable(t, first, "shared_t")
	parts := cutInto(t, first, "shared_t", source.Selection{}, f.Parting.Size)
	snapshot := share(t, first)
	if again := share(t, first); again != snapshot || snapshot != parts[0].Snapshot {
		t.Errorf("Share returns %+v, then %+v, and parts have %+v", snapshot, again, parts[0].Snapshot)
	}
	f.Exec(t, "DELETE FROM "+f.Quote("shared_t")+" WHERE id % 2 = 1")
	testShareToken(t, first, snapshot.Token, want)

	holder, shared := first, snapshot
	for range 3 {
		next, closeNext := join(t, holder, shared)
		closeHolder()
		before := shared
		shared = share(t, next)
		if shared.Token == before.Token || !shared.Same(before) || !shared.Same(snapshot) {
			t.Errorf("the snapshot %+v is shared as %+v", before, shared)
		}
		f.Exec(t, "DELETE FROM "+f.Quote("shared_t")+" WHERE id % 4 = 0")
		if _, err := next.(source.Sharer).Join(context.Background(), before); !errors.Is(err, source.ErrSnapshotLost) {
			t.Errorf("joining a snapshot whose session has ended: %v", err)
		}
		holder, closeHolder = next, closeNext
	}
	expect(t, readParts(t, holder, parts), want)

	// One that shares another state cannot read these parts, and knows it.
	other := f.open(t)
	if now := share(t, other); now.Same(snapshot) {
		t.Errorf("after changes, %+v is the same as %+v", now, snapshot)
	}
	if _, err := other.(source.Parter).Part(context.Background(), parts[0]); !errors.Is(err, source.ErrOtherSnapshot) {
		t.Errorf("a part of another snapshot: %v", err)
	}
	// But it can open others that do.
	last, _ := join(t, other, shared)
	expect(t, readParts(t, last, parts), want)
}

// testShareToken joins a snapshot of which only the token is known.
func testShareToken(t *testing.T, holder source.Source, token string, want [][]value) {
	var before source.Snapshot
	for range 2 {
		src, closeNow := join(t, holder, source.Snapshot{Token: token})
		snapshot := share(t, src)
		if before.Token != "" && !snapshot.Same(before) {
			t.Errorf("the snapshot of one token is shared as %+v and as %+v", before, snapshot)
		}
		before = snapshot
		expect(t, readTable(t, src, "shared_t"), want)
		closeNow()
	}
}

// testShareRefused joins snapshots of other servers.
func testShareRefused(t *testing.T, f *Fixture) {
	src := f.open(t)
	snapshot := share(t, src)
	for _, change := range []func(*source.Snapshot){
		func(s *source.Snapshot) { s.Server += "1" },
		func(s *source.Snapshot) { s.Database += "1" },
		func(s *source.Snapshot) { s.Settings += "1" },
		func(s *source.Snapshot) { s.State += "1" },
		func(s *source.Snapshot) { s.Server, s.Token = "", snapshot.Token+"1" },
	} {
		other := snapshot
		change(&other)
		if _, err := src.(source.Sharer).Join(context.Background(), other); !errors.Is(err, source.ErrOtherServer) {
			t.Errorf("joining %+v: %v, want ErrOtherServer", other, err)
		}
	}
	for _, token := range []string{"", "'; SELECT 1 --", "../x", string(slices.Repeat([]byte("1"), 1<<16))} {
		other := snapshot
		other.Token = token
		if _, err := src.(source.Sharer).Join(context.Background(), other); err == nil {
			t.Errorf("the token %.20q is accepted", token)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := src.(source.Sharer).Join(ctx, snapshot); !errors.Is(err, context.Canceled) {
		t.Errorf("joining when the context has ended: %v", err)
	}
}

// testUnchanged compares the snapshots of sources that are open at different times.
func testUnchanged(t *testing.T, f *Fixture) {
	f.createParted(t, "same_t")
	before := f.Open(t)
	closeBefore := closing(t, before)
	want := readTable(t, before, "same_t")
	parts := cutInto(t, before, "same_t", source.Selection{}, f.Parting.Size)
	snapshot := share(t, before)
	closeBefore()
	now := f.open(t)
	if same := share(t, now); !same.Same(snapshot) {
		t.Fatalf("nothing was written, and %+v is not the same as %+v", same, snapshot)
	}
	expect(t, readParts(t, now, parts), want)
}
