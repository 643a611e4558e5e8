package tracker

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker/trackertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (p *pipeline) titled(title string) string {
	p.TB.Helper()
	list, err := List(p.TB.Context(), p.DataDir, "")
	if err != nil {
		p.TB.Fatal(err)
	}
	for _, i := range list {
		if i.Title == title {
			return i.ID
		}
	}
	p.TB.Fatalf("there is no issue %q", title)
	return ""
}

type pipeline struct{ *trackertest.Pipeline }

func newPipeline(tb testing.TB) *pipeline {
	tb.Helper()
	return &pipeline{trackertest.New(tb)}
}

func (p *pipeline) drain(change ...func(*Options)) error {
	b, err := broker.Open(p.TB.Context(), broker.Options{URL: p.Server.URL(), DataDir: p.DataDir, Name: Name})
	if err != nil {
		return err
	}
	opts := Options{Broker: b, DataDir: p.DataDir, Drain: true}
	for _, c := range change {
		c(&opts)
	}
	err = Run(p.TB.Context(), opts)
	return errors.Join(err, b.Close(context.WithoutCancel(p.TB.Context())))
}

func (p *pipeline) mustDrain(change ...func(*Options)) {
	p.TB.Helper()
	if err := p.drain(change...); err != nil {
		p.TB.Fatal(err)
	}
}

// check compares the tracker with a fold of the stream in memory.
func (p *pipeline) check() {
	p.TB.Helper()
	valid := slices.DeleteFunc(p.Stored(""), func(e events.Event) bool { return strings.HasPrefix(e.ID, "bad-") })
	state, decisions := rulestest.Fold(p.TB, valid)
	got, err := keptIn(p.TB.Context(), p.DataDir)
	if err != nil {
		p.TB.Fatal(err)
	}
	if diff := cmp.Diff(keptBy(state), got); diff != "" {
		p.TB.Errorf("state (-want +got):\n%s", diff)
	}
	var wantIDs, gotIDs []string
	for _, d := range decisions {
		wantIDs = append(wantIDs, d.ID())
	}
	for _, e := range p.Stored(events.IssueDecided) {
		gotIDs = append(gotIDs, e.ID)
	}
	slices.Sort(wantIDs)
	slices.Sort(gotIDs)
	if diff := cmp.Diff(wantIDs, gotIDs); diff != "" {
		p.TB.Errorf("published decisions (-want +got):\n%s", diff)
	}
	checkFiles(p.TB, p.DataDir, state)
}

func checkFiles(tb testing.TB, dataDir string, state *rules.State) {
	tb.Helper()
	byTenant := make(map[string]int)
	for _, i := range state.Issues() {
		byTenant[i.Tenant]++
		path, err := beads.File(filepath.Join(dataDir, "beads"), i.Tenant)
		if err != nil {
			tb.Fatal(err)
		}
		got, ok := trackertest.ReadBeads(tb, path)[i.ID]
		if !ok || string(got.Status) != string(i.Status) || got.Title != i.Title || len(got.Dependencies) != len(i.Links) ||
			!got.ClosedAt.Equal(i.Closed) || !got.UpdatedAt.Equal(i.Updated) {
			tb.Errorf("exported issue is %+v, want %+v", got, i)
		}
	}
	for tenant, n := range byTenant {
		path, err := beads.File(filepath.Join(dataDir, "beads"), tenant)
		if err != nil {
			tb.Fatal(err)
		}
		if got := len(trackertest.ReadBeads(tb, path)); got != n {
			tb.Errorf("tenant %s: %d issues exported, want %d", tenant, got, n)
		}
	}
}

func openDB(tb testing.TB, dataDir string) *projection.DB {
	tb.Helper()
	db, err := projection.Open(tb.Context(), store.File(dataDir), schema, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	return db
}
