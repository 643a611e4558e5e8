package tracker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// longStory is the story with a late event that releases all held failures.
func longStory(tb testing.TB) []events.Event {
	tb.Helper()
	return append(rulestest.Story(tb), rulestest.At(tb, "beta", "r2", 60, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}))
}

// titled returns the id of the issue with a title.
func (p *pipeline) titled(title string) string {
	p.tb.Helper()
	list, err := List(p.tb.Context(), p.dataDir, "")
	if err != nil {
		p.tb.Fatal(err)
	}
	for _, i := range list {
		if i.Title == title {
			return i.ID
		}
	}
	p.tb.Fatalf("there is no issue %q", title)
	return ""
}

// want folds list in memory.
func want(tb testing.TB, list []events.Event) (*rules.State, []rules.Decision) {
	tb.Helper()
	s := new(rules.State)
	var decisions []rules.Decision
	for _, e := range list {
		d, err := s.Apply(e, rules.DefaultConfig())
		if err != nil {
			tb.Fatal(err)
		}
		decisions = append(decisions, d...)
	}
	return s, decisions
}

// pipeline is a server and the data directory of a tracker.
type pipeline struct {
	tb      testing.TB
	server  *natstest.Server
	dataDir string
}

func newPipeline(tb testing.TB) *pipeline {
	tb.Helper()
	return &pipeline{tb: tb, server: natstest.Listen(tb, tb.TempDir()), dataDir: tb.TempDir()}
}

// publish publishes list as one producer.
func (p *pipeline) publish(name string, list ...events.Event) {
	p.tb.Helper()
	pub, err := publish.Open(p.tb.Context(), p.server.Connect(p.tb), publish.Options{
		Dir: filepath.Join(p.tb.TempDir(), name), Name: name, Redactor: publish.NoRedaction,
	})
	if err != nil {
		p.tb.Fatal(err)
	}
	for _, e := range list {
		if _, err := pub.Append(p.tb.Context(), e); err != nil {
			p.tb.Fatal(err)
		}
	}
	if err := pub.Close(p.tb.Context()); err != nil {
		p.tb.Fatal(err)
	}
}

// drain runs a tracker over the events that are in the stream.
func (p *pipeline) drain(change ...func(*Options)) error {
	b, err := broker.Open(p.tb.Context(), broker.Options{URL: p.server.URL(), DataDir: p.dataDir, Name: Name})
	if err != nil {
		return err
	}
	opts := Options{Broker: b, DataDir: p.dataDir, Drain: true}
	for _, c := range change {
		c(&opts)
	}
	err = Run(p.tb.Context(), opts)
	return errors.Join(err, b.Close(context.WithoutCancel(p.tb.Context())))
}

func (p *pipeline) mustDrain(change ...func(*Options)) {
	p.tb.Helper()
	if err := p.drain(change...); err != nil {
		p.tb.Fatal(err)
	}
}

// stored returns the valid events of a kind in the stream, or all valid events if kind
// is empty.
func (p *pipeline) stored(kind events.Kind) (list []events.Event) {
	p.tb.Helper()
	js := p.server.JetStream(p.tb)
	stream, err := js.Stream(p.tb.Context(), p.server.Space().EventStream())
	if err != nil {
		p.tb.Fatal(err)
	}
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		m, err := stream.GetMsg(p.tb.Context(), seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			p.tb.Fatal(err)
		}
		a, err := p.server.Space().Parse(m.Subject)
		if err != nil || a.Manifest || kind != "" && a.Kind != kind {
			continue
		}
		if e, err := events.Decode(m.Data); err == nil && e.Tenant == a.Tenant && !strings.HasPrefix(e.ID, "bad-") {
			list = append(list, e)
		}
	}
	return list
}

// check compares the results of the tracker with a fold of the stream in memory.
func (p *pipeline) check() {
	p.tb.Helper()
	state, decisions := want(p.tb, p.stored(""))
	got, err := keptIn(p.tb.Context(), p.dataDir)
	if err != nil {
		p.tb.Fatal(err)
	}
	if diff := cmp.Diff(keptBy(state), got); diff != "" {
		p.tb.Errorf("state (-want +got):\n%s", diff)
	}
	var wantIDs, gotIDs []string
	for _, d := range decisions {
		wantIDs = append(wantIDs, d.ID())
	}
	for _, e := range p.stored(events.IssueDecided) {
		gotIDs = append(gotIDs, e.ID)
	}
	slices.Sort(wantIDs)
	slices.Sort(gotIDs)
	if diff := cmp.Diff(wantIDs, gotIDs); diff != "" {
		p.tb.Errorf("published decisions (-want +got):\n%s", diff)
	}
	checkFiles(p.tb, p.dataDir, state)
}

// checkFiles compares the exported files with the issues of state.
func checkFiles(tb testing.TB, dataDir string, state *rules.State) {
	tb.Helper()
	byTenant := make(map[string]int)
	for _, i := range state.Issues() {
		byTenant[i.Tenant]++
		path, err := beads.File(filepath.Join(dataDir, "beads"), i.Tenant)
		if err != nil {
			tb.Fatal(err)
		}
		got, ok := readBeads(tb, path)[i.ID]
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
		if got := len(readBeads(tb, path)); got != n {
			tb.Errorf("tenant %s: %d issues exported, want %d", tenant, got, n)
		}
	}
}

func readBeads(tb testing.TB, path string) map[string]beads.Issue {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	list := make(map[string]beads.Issue)
	dec := json.NewDecoder(bytes.NewReader(data))
	for dec.More() {
		var i beads.Issue
		if err := dec.Decode(&i); err != nil {
			tb.Fatal(err)
		}
		list[i.ID] = i
	}
	return list
}

// openDB opens the tracker's database of a data directory.
func openDB(tb testing.TB, dataDir string) *projection.DB {
	tb.Helper()
	db, err := projection.Open(tb.Context(), store.File(dataDir), schema, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	return db
}
