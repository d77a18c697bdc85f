package workers

import (
	"errors"
	"testing"
)

// TestJobIsRemovedBeforeItBegins has a holder that waits for a job which is removed.
func TestJobIsRemovedBeforeItBegins(t *testing.T) {
	q, err := OpenQueue(t.Context(), QueueConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	secret := []byte("a secret of the tests, of 36 bytes…")
	if _, err := q.Create(t.Context(), "job", secret); err != nil {
		t.Fatal(err)
	}
	h := &hold{holder: &Holder{Name: "holder", Queue: q, Secret: secret, Job: "job"}}
	if err := h.join(t.Context()); !errors.Is(err, ErrNoJob) {
		t.Errorf("before it begins: %v", err)
	}
	if err := q.Remove(t.Context(), "job"); err != nil {
		t.Fatal(err)
	}
	if err := h.join(t.Context()); !errors.Is(err, errEnded) {
		t.Errorf("when it is removed: %v", err)
	}
}
