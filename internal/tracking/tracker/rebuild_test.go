package tracker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker/trackertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (p *pipeline) rebuild(change ...func(*RebuildOptions)) (Rebuilt, error) {
	b, err := broker.Open(p.TB.Context(), broker.Options{URL: p.Server.URL(), DataDir: p.DataDir, Name: Name})
	if err != nil {
		return Rebuilt{}, err
	}
	opts := RebuildOptions{Options: Options{Broker: b, DataDir: p.DataDir}}
	for _, c := range change {
		c(&opts)
	}
	done, err := Rebuild(p.TB.Context(), opts)
	return done, errors.Join(err, b.Close(context.WithoutCancel(p.TB.Context())))
}

func (p *pipeline) mustRebuild(change ...func(*RebuildOptions)) Rebuilt {
	p.TB.Helper()
	done, err := p.rebuild(change...)
	if err != nil {
		p.TB.Fatal(err)
	}
	return done
}

func (p *pipeline) workspaces() map[string]string {
	p.TB.Helper()
	files, err := filepath.Glob(filepath.Join(p.DataDir, "beads", "*", ".beads", "issues.jsonl"))
	if err != nil {
		p.TB.Fatal(err)
	}
	all := make(map[string]string)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			p.TB.Fatal(err)
		}
		all[f] = string(data)
	}
	return all
}

func TestRebuild_MakesTheSameAndPublishesNothing(t *testing.T) {
	for _, test := range []struct {
		name   string
		before func(t *testing.T, p *pipeline)
		gone   int64
	}{
		{"Whole", func(*testing.T, *pipeline) {}, 0},
		{"WithoutADatabase", func(t *testing.T, p *pipeline) {
			t.Helper()
			if err := os.RemoveAll(filepath.Dir(store.File(p.DataDir))); err != nil {
				t.Fatal(err)
			}
		}, -1},
		{"DamagedDatabase", func(t *testing.T, p *pipeline) {
			t.Helper()
			if err := os.WriteFile(store.File(p.DataDir), []byte("no database"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPipeline(t)
			p.Publish("engine", rulestest.LongStory(t)...)
			p.mustDrain()
			p.mustDrain() // read the published decisions
			want, published := p.workspaces(), len(p.Stored(events.IssueDecided))
			list, err := List(t.Context(), p.DataDir, "")
			if err != nil {
				t.Fatal(err)
			}
			test.before(t, p)
			done := p.mustRebuild()
			if diff := cmp.Diff(want, p.workspaces()); diff != "" {
				t.Errorf("files (-before +after):\n%s", diff)
			}
			if done.Gone != test.gone || len(done.Gained)+len(done.Lost) != 0 || done.Issues != len(list) {
				t.Errorf("got %+v", done)
			}
			p.check()
			p.mustDrain()
			if got := len(p.Stored(events.IssueDecided)); got != published {
				t.Errorf("%d decisions are published, %d were before", got, published)
			}
			p.check()
		})
	}
}

func TestRebuild_SaysThatTheBeginningIsGone(t *testing.T) {
	p := &pipeline{trackertest.New(t, natstest.Options{AllowTamper: true})}
	p.Publish("engine", rulestest.LongStory(t)...)
	p.mustDrain()
	want := p.workspaces()
	stream, err := p.Server.JetStream(t).Stream(t.Context(), p.Server.Space().EventStream())
	if err != nil {
		t.Fatal(err)
	}
	for _, purge := range []func() error{
		func() error {
			m, err := stream.GetMsg(t.Context(), 3)
			if err != nil {
				return err
			}
			return stream.Purge(t.Context(), jetstream.WithPurgeSubject(m.Subject))
		},
		func() error { return stream.Purge(t.Context(), jetstream.WithPurgeSequence(4)) },
	} {
		if err := purge(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.rebuild(); !errors.Is(err, ErrBeginning) {
			t.Errorf("got %v, want %v", err, ErrBeginning)
		}
		if diff := cmp.Diff(want, p.workspaces()); diff != "" {
			t.Errorf("files (-before +after):\n%s", diff)
		}
	}
	done := p.mustRebuild(func(o *RebuildOptions) { o.Partial = true })
	if done.Gone == 0 {
		t.Errorf("nothing is said to be gone: %+v", done)
	}
}

func TestRebuild_RefusesWhileATrackerRuns(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.LongStory(t)...)
	p.mustDrain()
	db := openDB(t, p.DataDir)
	defer db.Close()
	if _, err := p.rebuild(); err == nil {
		t.Error("it was rebuilt beneath a tracker")
	}
}

// Another configuration decides on the whole history again.
func TestRebuild_UnderAnotherConfiguration(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.LongStory(t)...)
	p.mustDrain()
	published := len(p.Stored(events.IssueDecided))
	strict := rules.DefaultConfig()
	strict.Followups, strict.TitlePrefix = 0, "HT:"
	done := p.mustRebuild(func(o *RebuildOptions) { o.Config = strict })
	if len(done.Lost) == 0 {
		t.Errorf("no follow-up was lost: %+v", done)
	}
	list, err := List(t.Context(), p.DataDir, "")
	if err != nil || len(list) != done.Issues {
		t.Errorf("got %d issues, error %v; want %d", len(list), err, done.Issues)
	}
	all := make(map[string]bool)
	for path := range p.workspaces() {
		for id, i := range trackertest.ReadBeads(t, path) {
			all[id] = true
			for _, lost := range done.Lost {
				if id == lost && (i.Status != "closed" || i.CloseReason != noIssue) {
					t.Errorf("lost issue %s is %s: %q", id, i.Status, i.CloseReason)
				}
			}
		}
	}
	for _, i := range list {
		if !all[i.ID] {
			t.Errorf("issue %s is in no workspace", i.ID)
		}
	}
	if got := len(p.Stored(events.IssueDecided)); got != published {
		t.Errorf("%d decisions are published, %d were before", got, published)
	}
}

// After a rebuild, a tracker publishes decisions on events that had none.
func TestRebuild_WhatNobodyDecidedOnIsPublishedLater(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.LongStory(t)...)
	p.mustDrain()
	p.Publish("later", session(t, "r9", 7200)...)
	p.mustRebuild()
	p.mustDrain()
	p.check()
}
