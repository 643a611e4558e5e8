package tracker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// call runs a tracker command and returns its exit status and output.
func call(t *testing.T, dataDir string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := Command()
	var out, errs bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status = cli.Execute(t.Context(), cmd, append(args, "--data-dir", dataDir))
	return status, out.String(), errs.String()
}

func callJSON[T any](t *testing.T, dataDir string, args ...string) (v T) {
	t.Helper()
	status, stdout, stderr := call(t, dataDir, append(args, "--json")...)
	if status != cli.ExitOK {
		t.Fatalf("tracker %v: exit status %d: %s", args, status, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatalf("tracker %v: %v in %s", args, err, stdout)
	}
	return v
}

// longStory is the story with a late event that releases all held failures.
func longStory(tb testing.TB) []events.Event {
	tb.Helper()
	return append(rulestest.Story(tb), rulestest.At(tb, "beta", "r2", 60, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}))
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

// mustDrain runs a tracker over the events that are in the stream.
func (p *pipeline) mustDrain(change ...func(*tracker.Options)) {
	p.tb.Helper()
	b, err := broker.Open(p.tb.Context(), broker.Options{URL: p.server.URL(), DataDir: p.dataDir, Name: tracker.Name})
	if err != nil {
		p.tb.Fatal(err)
	}
	opts := tracker.Options{Broker: b, DataDir: p.dataDir, Drain: true}
	for _, c := range change {
		c(&opts)
	}
	err = tracker.Run(p.tb.Context(), opts)
	if err := errors.Join(err, b.Close(context.WithoutCancel(p.tb.Context()))); err != nil {
		p.tb.Fatal(err)
	}
}

// stored returns the events of a kind in the stream, or all events if kind is empty.
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
		if e, err := events.Decode(m.Data); err == nil {
			list = append(list, e)
		}
	}
	return list
}

// open returns the issues of acme that are not closed.
func (p *pipeline) open() (list []tracker.Issue) {
	p.tb.Helper()
	all, err := tracker.List(p.tb.Context(), p.dataDir, "acme")
	if err != nil {
		p.tb.Fatal(err)
	}
	for _, i := range all {
		if i.Status != rules.Closed {
			list = append(list, i)
		}
	}
	return list
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

// filesWith returns the files below dir that contain text.
func filesWith(tb testing.TB, dir, text string) (files []string) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files
}
