package publish

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestSmoke(t *testing.T) {
	srv := natstest.Start(t)
	nc := srv.Connect(t)
	p, err := Open(t.Context(), nc, Options{Dir: t.TempDir(), Name: "smoke", Redactor: NoRedaction})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		e, err := events.New(events.ToolBefore, "/test", events.ToolBeforeData{Tool: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		e.Run = "r"
		e.Tenant = fmt.Sprintf("t%d", i%3)
		if i >= 1997 {
			e.Type = events.RunFinished.Type()
			_ = e.SetData(events.RunFinishedData{Success: true})
		}
		if _, err := p.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", p.Stats())
	_ = nats.DefaultURL
}
