package tracker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestRun_AnotherStreamGoesOnWhereTheOldOneEnded(t *testing.T) {
	p := newPipeline(t)
	list := rulestest.LongStory(t)
	p.Publish("engine", list[:4]...)
	p.mustDrain()
	// The broker's store is lost. Producers continue and repeat an event.
	p.Server = natstest.Listen(t, t.TempDir())
	if err := os.Remove(filepath.Join(p.DataDir, "broker.json")); err != nil { // moves on purpose
		t.Fatal(err)
	}
	p.Publish("engine2", list[3:]...)
	p.mustDrain()
	state, _ := rulestest.Fold(t, list)
	checkFiles(t, p.DataDir, state)
	if got, err := List(t.Context(), p.DataDir, ""); err != nil || len(got) != len(state.Issues()) {
		t.Errorf("got %d issues and error %v, want %d", len(got), err, len(state.Issues()))
	}
}

func TestRun_StopsWhileItWaitsForAnother(t *testing.T) {
	p := newPipeline(t)
	db := openDB(t, p.DataDir)
	defer db.Close()
	b, err := broker.Open(t.Context(), broker.Options{URL: p.Server.URL(), DataDir: p.DataDir, Name: Name})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(context.WithoutCancel(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := Run(ctx, Options{Broker: b, DataDir: p.DataDir}); err != nil {
		t.Errorf("told to stop: got %v, want nil", err)
	}
	if err := Run(ctx, Options{Broker: b, DataDir: p.DataDir, Drain: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing was drained: got %v, want %v", err, context.Canceled)
	}
}

// Other tenants can compute our decision ids, but their decisions must not count as ours.
func TestRun_AnotherTenantsDecisionIsNotOurs(t *testing.T) {
	p := newPipeline(t)
	list := rulestest.Story(t)
	_, decisions := rulestest.Fold(t, list[:1])
	forged := rulestest.At(t, "evil", "r1", 9, events.IssueDecided, decisions[0].Data())
	forged.ID = decisions[0].ID()
	p.Publish("engine", list...)
	p.Publish("wild", forged)
	p.mustDrain()
	for _, e := range p.Stored(events.IssueDecided) {
		if e.ID == forged.ID && e.Tenant == "acme" {
			return
		}
	}
	t.Error("our decision was not published")
}
