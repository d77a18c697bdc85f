package workers

import (
	"context"

	"culvert/workers/internal/queue"
)

// Queue is a connection to a NATS server with JetStream, or one within this process.
type Queue = queue.Queue

// QueueConfig says which NATS server is used, and how.
type QueueConfig = queue.Config

// OpenQueue connects to a NATS server, or starts it in this process.
func OpenQueue(ctx context.Context, config QueueConfig) (*Queue, error) {
	return queue.Open(ctx, config)
}

// Errors of the queue that callers can act on.
var (
	ErrNoJob  = queue.ErrNoJob
	ErrSealed = queue.ErrSealed

	ErrPayload = queue.ErrPayload
	ErrDisk    = queue.ErrDisk
)
