package jobs

import (
	"bytes"
	"testing"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/workers"
)

// TestFailuresAreTold has a coordinator tell people of failures as they happen, whoever has failed.
func TestFailuresAreTold(t *testing.T) {
	part := workers.Event{
		Event: workers.EventPartFailed, Worker: "far", Table: "orders", Part: 7, Attempt: 5,
		Reason: "workers: no page 9",
	}
	table := workers.Event{Event: workers.EventTableFailed, Table: "orders", Reason: "no page 9"}
	const ofPart = "culvert: table \"orders\", part 7, attempt 5 of worker far: no page 9\n"
	const ofTable = "culvert: table \"orders\" has failed, and the others go on: no page 9\n"
	for name, test := range map[string]struct {
		url  command.NotEmpty
		want string
	}{
		"with a queue": {"nats://host", ofPart + ofTable},
		"alone":        {"", ofTable}, // its own worker has told of the part
	} {
		t.Run(name, func(t *testing.T) {
			var told bytes.Buffer
			e := &Export{Flags: &ExportFlags{QueueFlags: QueueFlags{url: test.url}}}
			e.teller.app = &command.App{Console: ui.NewConsole(&told)}
			for _, one := range []workers.Event{part, table, {Event: workers.EventWorkerJoined, Worker: "far"}} {
				e.happened(one)
			}
			if got := told.String(); got != test.want {
				t.Errorf("told %q, want %q", got, test.want)
			}
		})
	}
}
