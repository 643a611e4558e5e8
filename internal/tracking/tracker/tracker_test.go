package tracker

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker/trackertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestRun_GoldenIssues(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.LongStory(t)...)
	p.mustDrain()
	p.check()
	for _, tenant := range []string{"acme", "beta"} {
		path, err := beads.File(filepath.Join(p.DataDir, "beads"), tenant)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", tenant+".jsonl")
		if *update {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestRun_AgainChangesNothing(t *testing.T) {
	p := newPipeline(t)
	list := rulestest.Story(t)
	p.Publish("engine", list[:4]...)
	p.mustDrain()
	p.mustDrain()
	p.Publish("engine2", list...) // repeats the first four with other numbers
	p.mustDrain()
	p.check()
}

func TestRun_LostFilesRepeatNothing(t *testing.T) {
	p := newPipeline(t)
	list := rulestest.Story(t)
	p.Publish("engine", list[:6]...)
	p.mustDrain()
	p.Publish("engine2", list[6:]...)
	// The tracker loses its files, and even its outbox.
	for _, name := range []string{"tracker", "outbox", "beads"} {
		if err := os.RemoveAll(filepath.Join(p.DataDir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.mustDrain()
	p.check()
}

func TestRun_PoisonIsDeadLetteredAndTheRestGoesOn(t *testing.T) {
	p := newPipeline(t)
	list := rulestest.Story(t)
	bad := rulestest.StepAt(t, "acme", "r1", 3, "s1", events.StepCompleted, "")
	js := p.Server.JetStream(t)
	for i, data := range []string{"no event", `{"step_status":7}`, `[]`} {
		subject, err := p.Server.Space().Event("acme", "wild", "r1", events.StepFinished)
		if err != nil {
			t.Fatal(err)
		}
		bad.ID, bad.Data = fmt.Sprintf("bad-%d", i), []byte(data)
		bad.Producer, bad.Sequence, bad.Salt = "wild", uint64(i+1), events.NewSalt()
		encoded := bad.Append(nil)
		if i == 0 {
			encoded = []byte(data)
		}
		if _, err := js.Publish(t.Context(), subject, encoded); err != nil {
			t.Fatal(err)
		}
	}
	foreign := list[0]
	foreign.ID, foreign.Tenant, foreign.Producer, foreign.Sequence, foreign.Salt = "foreign", "beta", "wild", 9, events.NewSalt()
	subject, err := p.Server.Space().Event("acme", "wild", "r1", events.RunStarted)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), subject, foreign.Append(nil)); err != nil {
		t.Fatal(err)
	}
	// Quarantined messages create no issue.
	stray := rulestest.At(t, "acme", "r9", 1, events.RunStarted, events.RunStartedData{RunType: "RESOLVE"})
	stray.ID, stray.Producer, stray.Sequence, stray.Salt = "bad-run", "wild", 10, events.NewSalt()
	if _, err := js.Publish(t.Context(), subject, stray.Append(nil)); err != nil {
		t.Fatal(err)
	}
	p.Publish("engine", list...)
	p.mustDrain()
	p.check()
	letters, err := js.Stream(t.Context(), p.Server.Space().DeadLetterStream())
	if err != nil {
		t.Fatal(err)
	}
	info, err := letters.Info(t.Context(), jetstream.WithSubjectFilter(p.Server.Space().AllDeadLetters()))
	if err != nil {
		t.Fatal(err)
	}
	var got uint64
	for subject, n := range info.State.Subjects {
		if strings.HasSuffix(subject, Name) {
			got += n
		}
	}
	if got != 5 {
		t.Errorf("got %d dead letters, want 5: %v", got, info.State.Subjects)
	}
}

func TestRun_OtherScopeIsRefused(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.LongStory(t)...)
	p.mustDrain(func(o *Options) { o.Tenant = "beta" })
	list, err := List(t.Context(), p.DataDir, "")
	if err != nil || len(list) != 1 || list[0].Tenant != "beta" {
		t.Errorf("got issues %+v, error %v; want one of beta", list, err)
	}
	if err := p.drain(); !errors.Is(err, errOtherScope) {
		t.Errorf("got %v, want %v", err, errOtherScope)
	}
}

type failingBackend struct {
	*beads.Store

	mu    sync.Mutex // guards fail and calls
	fail  func(call int, id string) error
	calls int
}

func (b *failingBackend) Workspace(tenant string) beads.Backend {
	return &failingWorkspace{Backend: b.Store.Workspace(tenant), parent: b}
}

type failingWorkspace struct {
	beads.Backend
	parent *failingBackend
}

func (w *failingWorkspace) Ensure(ctx context.Context, issue beads.Issue) error {
	w.parent.mu.Lock()
	w.parent.calls++
	err := w.parent.fail(w.parent.calls, issue.ID)
	w.parent.mu.Unlock()
	if err != nil {
		return err
	}
	return w.Backend.Ensure(ctx, issue)
}

func (p *pipeline) withBackend(fail func(call int, id string) error) func(*Options) {
	return func(o *Options) {
		o.backend = &failingBackend{Store: beads.NewStore(newBeadsDB(p.TB), filepath.Join(p.DataDir, "beads")), fail: fail}
	}
}

func TestRun_TransientFailuresAreTriedAgain(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.Story(t)...)
	p.mustDrain(p.withBackend(func(call int, _ string) error {
		switch call {
		case 1:
			return beads.ErrTransient
		case 3:
			return fmt.Errorf("no answer: %w", beads.ErrUnavailable)
		}
		return nil
	}))
	p.check()
}

func TestRun_RefusedEffectsAreRecordedAndTheRestGoesOn(t *testing.T) {
	p := newPipeline(t)
	list := rulestest.Story(t)
	state, _ := rulestest.Fold(t, list)
	own := ""
	for _, i := range state.Issues() {
		if i.Title == "GWI: RESOLVE run r1" {
			own = i.ID
		}
	}
	p.Publish("engine", list...)
	p.mustDrain(p.withBackend(func(_ int, id string) error {
		if id == own {
			return fmt.Errorf("title: %w", beads.ErrInvalid)
		}
		return nil
	}))
	d, err := Show(t.Context(), p.DataDir, "acme", own)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range d.Transitions {
		if !strings.Contains(tr.Refused, beads.ErrInvalid.Error()) {
			t.Errorf("becoming %s was not refused", tr.To)
		}
	}
	path, err := beads.File(filepath.Join(p.DataDir, "beads"), "acme")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(trackertest.ReadBeads(t, path)), len(state.Issues())-1; got != want {
		t.Errorf("got %d exported issues, want the %d others", got, want)
	}
}

//guarantee:backend-fails
func TestRun_UnavailableBackendStopsTheReading(t *testing.T) {
	p := newPipeline(t)
	list := rulestest.Story(t)
	p.Publish("engine", list[:1]...)
	b, err := broker.Open(t.Context(), broker.Options{URL: p.Server.URL(), DataDir: p.DataDir, Name: Name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	back := make(chan struct{})
	troubled := make(chan struct{})
	tell := sync.OnceFunc(func() { close(troubled) })
	opts := Options{Broker: b, DataDir: p.DataDir, Progress: func(pr consume.Progress) {
		if errors.Is(pr.Err, beads.ErrUnavailable) {
			tell()
		}
	}}
	p.withBackend(func(int, string) error {
		select {
		case <-back:
			return nil
		default:
			return beads.ErrUnavailable
		}
	})(&opts)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, opts) }()
	p.Publish("engine2", list[1:]...)
	select {
	case <-troubled:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was told")
	}
	close(back)
	_, decisions := rulestest.Fold(t, p.Stored("")) // including the seals
	deadline := time.After(20 * time.Second)
	for tick := time.Tick(20 * time.Millisecond); len(p.Stored(events.IssueDecided)) < len(decisions); {
		select {
		case <-tick:
			if _, err := List(t.Context(), p.DataDir, ""); err != nil {
				t.Fatalf("list beside a running tracker: %v", err)
			}
		case <-deadline:
			t.Fatal("the reading did not go on")
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	p.check()
}
