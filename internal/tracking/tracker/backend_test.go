package tracker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker/trackertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type otherConsumer struct{ position consume.Position }

func (b *otherConsumer) Position(context.Context) (consume.Position, error) { return b.position, nil }

func (b *otherConsumer) Apply(_ context.Context, _ []consume.Message, next consume.Position) error {
	b.position = next
	return nil
}

// TestRun_ADrainSaysThatNobodyTakesIssues tests that a drain ends with the reason if the backend
// refuses everything, hangs or is missing. A later drain loses nothing.
//
//guarantee:backend-fails
func TestRun_ADrainSaysThatNobodyTakesIssues(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(p *pipeline) func(*Options)
		want   error
	}{
		{"Unavailable", func(p *pipeline) func(*Options) {
			return p.withBackend(func(int, string) error { return fmt.Errorf("locked: %w", beads.ErrUnavailable) })
		}, beads.ErrUnavailable},
		{"AlwaysTransient", func(p *pipeline) func(*Options) {
			return p.withBackend(func(int, string) error { return beads.ErrTransient })
		}, beads.ErrTransient},
		{"Hung", func(p *pipeline) func(*Options) {
			return func(o *Options) {
				o.backend = &hung{beads.NewStore(newBeadsDB(p.TB), filepath.Join(p.DataDir, "beads"))}
			}
		}, beads.ErrUnavailable},
		{"Missing", func(p *pipeline) func(*Options) {
			return func(o *Options) { o.Backend, o.BD = BDBackend, filepath.Join(p.DataDir, "no-such-bd") }
		}, beads.ErrUnavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPipeline(t)
			p.Publish("engine", rulestest.Story(t)...)
			began := time.Now()
			err := p.drain(test.change(p), func(o *Options) { o.SettleTimeout = time.Second })
			if !errors.Is(err, errStuck) || !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v because of %v", err, errStuck, test.want)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
			other := new(otherConsumer)
			err = consume.Run(t.Context(), p.Server.JetStream(t), consume.Options{Durable: "other", Space: p.Server.Space(), Drain: true}, other)
			if err != nil || other.position.Sequence == 0 {
				t.Errorf("another consumer is at %d, error %v", other.position.Sequence, err)
			}
			p.mustDrain()
			p.check()
		})
	}
}

type hung struct{ *beads.Store }

func (h *hung) Workspace(tenant string) beads.Backend {
	return hungWorkspace{h.Store.Workspace(tenant)}
}

type hungWorkspace struct{ beads.Backend }

func (hungWorkspace) Ensure(ctx context.Context, _ beads.Issue) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestRun_OneIssueWaitsAlone(t *testing.T) {
	p := newPipeline(t)
	list := rulestest.Story(t)
	state, _ := rulestest.Fold(t, list)
	first := state.Issues()[0].ID
	others := make(map[string]bool)
	for _, i := range state.Issues()[1:] {
		others[i.ID] = true
	}
	p.Publish("engine", list...)
	refused := 0
	p.mustDrain(p.withBackend(func(_ int, id string) error {
		if id != first {
			delete(others, id)
			return nil
		}
		if refused < 2 || len(others) > 0 {
			refused++
			return beads.ErrTransient
		}
		return nil
	}))
	if refused < 2 {
		t.Errorf("it was refused %d times, want 2 or more", refused)
	}
	p.check()
}

func TestRun_OneTenantWaitsAlone(t *testing.T) {
	p := newPipeline(t)
	list := rulestest.LongStory(t)
	state, _ := rulestest.Fold(t, list)
	others := make(map[string]bool)
	for _, i := range state.Issues() {
		others[i.ID] = i.Tenant == "beta"
	}
	p.Publish("engine", list...)
	err := p.drain(p.withBackend(func(_ int, id string) error {
		if others[id] {
			return nil
		}
		return beads.ErrTransient
	}), func(o *Options) { o.SettleTimeout = 2 * time.Second })
	if !errors.Is(err, errStuck) || !errors.Is(err, beads.ErrTransient) {
		t.Errorf("got %v, want %v", err, errStuck)
	}
	path, err := beads.File(filepath.Join(p.DataDir, "beads"), "beta")
	if err != nil {
		t.Fatal(err)
	}
	if got := trackertest.ReadBeads(t, path); len(got) != 1 {
		t.Errorf("beta has %d issues, want 1", len(got))
	}
}

// An edit in a workspace becomes one event, and the edited value stays.
func TestRun_PeoplesEditsAreEvents(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.Story(t)...)
	p.mustDrain()
	id := p.titled("write docs")
	p.edit("acme", id, func(i *beads.Issue) {
		i.Status, i.ClosedAt, i.CloseReason = beads.Closed, rulestest.StoryBegins.Add(time.Hour), "wontfix"
		i.UpdatedAt = i.ClosedAt
	})
	for range 2 {
		p.mustDrain()
		edits := p.Stored(events.IssueEdited)
		if len(edits) != 1 {
			t.Fatalf("%d edits are published, want 1", len(edits))
		}
		d, err := events.Payload[events.IssueEditedData](edits[0])
		if err != nil || d.Issue != id || d.Action != "not_planned" || edits[0].Tenant != "acme" {
			t.Errorf("published %+v, error %v", d, err)
		}
	}
	got, err := Show(t.Context(), p.DataDir, "acme", id)
	if err != nil || got.Status != "closed" {
		t.Errorf("the issue is %s, error %v", got.Status, err)
	}
	before := p.workspaces()
	if done := p.mustRebuild(); len(done.Gained)+len(done.Lost) > 0 {
		t.Errorf("rebuilt %+v", done)
	}
	for path, text := range p.workspaces() {
		if text != before[path] {
			t.Errorf("%s is another one after a rebuild:\n%s\nbefore:\n%s", path, text, before[path])
		}
	}
}
