package publish_test

import (
	"context"
	"fmt"
	"os"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// The server need not be there: what is appended waits in the outbox.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "outbox")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	nc, err := nats.Connect("nats://127.0.0.1:1", nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nc.Close()

	ctx := context.Background()
	p, err := publish.Open(ctx, nc, publish.Options{
		Dir: dir, Name: "engine", Tenant: "acme", Redactor: publish.NoRedaction,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := events.New(events.RunStarted, "/engine", events.RunStartedData{Title: "fix the build"})
	if err != nil {
		fmt.Println(err)
		return
	}
	e.Run = "run-7"
	stored, err := p.Append(ctx, e)
	fmt.Println(stored.Tenant, stored.Sequence, err)
	fmt.Println(p.Stats().Pending, "waits")

	enough, cancel := context.WithCancel(ctx)
	cancel()
	fmt.Println("left in the outbox:", p.Close(enough) != nil)
	// Output:
	// acme 1 <nil>
	// 1 waits
	// left in the outbox: true
}
