package workers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"filippo.io/age"

	"culvert/export"
	"culvert/place/dir"
	"culvert/postgres"
	"culvert/source"
	"culvert/workers"
)

// This is the coordinator of an export to a directory, with a NATS server elsewhere.
func ExampleCoordinator() {
	ctx := context.Background()
	recipient, err := age.ParseX25519Recipient(os.Getenv("RECIPIENT"))
	if err != nil {
		fmt.Println(err)
		return
	}
	to, err := dir.Open("backup")
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := workers.OpenQueue(ctx, workers.QueueConfig{URL: "nats://queue.example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer q.Close()
	c := &workers.Coordinator{
		Queue: q, Secret: []byte(os.Getenv("JOB_SECRET")), Job: "nightly",
		Settings: json.RawMessage(`{"output": "backup"}`),
		Output: &workers.Output{
			Plan: &export.Plan{Recipients: []age.Recipient{recipient}, PartSize: 256 << 20}, Place: to,
		},
		Open: func(ctx context.Context) (source.Source, error) { return postgres.OpenSource(ctx, "") },
		Join: func(ctx context.Context, s source.Snapshot) (source.Source, error) {
			return postgres.Join(ctx, "", s)
		},
		Tables: func(ctx context.Context, src source.Source) ([]string, error) {
			return src.(source.Lister).Tables(ctx, "")
		},
		Progress: func(s workers.Status) { fmt.Println(s.Done, "of", s.Parts, "parts") },
	}
	m, err := c.Run(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Ended.Sub(m.Begun).Round(time.Second))
}

// This worker takes parts of one job, with two connections to the database.
func ExampleWorker() {
	ctx := context.Background()
	q, err := workers.OpenQueue(ctx, workers.QueueConfig{URL: "nats://queue.example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer q.Close()
	w := &workers.Worker{
		Queue: q, Secret: []byte(os.Getenv("JOB_SECRET")), Name: "machine-7", Sessions: 2,
		Open: func(_ context.Context, settings json.RawMessage) (*workers.Output, error) {
			var s struct{ Output string }
			if err := json.Unmarshal(settings, &s); err != nil {
				return nil, err
			}
			to, err := dir.Open(s.Output)
			return &workers.Output{Plan: &export.Plan{Unencrypted: true, Jobs: 1}, Place: to}, err
		},
		Join: func(ctx context.Context, s source.Snapshot) (source.Source, error) {
			return postgres.Join(ctx, "", s)
		},
	}
	if err := w.Run(ctx, "nightly"); err != nil {
		fmt.Println(err)
		return
	}
}

// This process keeps the snapshot of a job, so that all machines that work on it may die.
func ExampleHolder() {
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Hour) // VACUUM waits for the end
	defer cancel()
	q, err := workers.OpenQueue(ctx, workers.QueueConfig{URL: "nats://queue.example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer q.Close()
	h := &workers.Holder{
		Name: "holder", Queue: q, Secret: []byte(os.Getenv("JOB_SECRET")), Job: "nightly",
		Join: func(ctx context.Context, s source.Snapshot) (source.Source, error) {
			return postgres.Join(ctx, "", s)
		},
		Held: func(s source.Snapshot) { fmt.Println("held:", s.Token) },
	}
	if err := h.Run(ctx); err != nil {
		fmt.Println(err)
	}
}
