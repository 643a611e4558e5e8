package beads_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

type model map[string]*want

type want struct {
	Status   beads.Status
	Comments []string
	Labels   []string
	Links    []string
}

func (m model) step(t *testing.T, w beads.Backend, n int) {
	t.Helper()
	ctx, when := t.Context(), at(n+1)
	id := fmt.Sprintf("ht-%02d", n%20)
	was := m[id]
	if was == nil {
		m[id] = &want{Status: beads.Open, Labels: []string{"hooktrail", "tracking"}}
		if err := w.Ensure(ctx, task(id)); err != nil {
			t.Fatal(err)
		}
		return
	}
	var err error
	switch n / 20 % 5 {
	case 0:
		text := fmt.Sprintf("note %d", n)
		was.Comments = append(was.Comments, text)
		err = w.Note(ctx, beads.Comment{Issue: id, Author: "hooktrail", Text: text, CreatedAt: when})
	case 1:
		was.Status = beads.Blocked
		err = w.Transition(ctx, beads.Transition{Issue: id, To: beads.Blocked, At: when, Reopen: true})
	case 2:
		if len(was.Links) == 0 {
			target := fmt.Sprintf("ht-%02d", (n+1)%20)
			was.Links = append(was.Links, target)
			err = w.Link(ctx, beads.Dependency{Issue: id, DependsOn: target, Type: "discovered-from", CreatedAt: when})
		}
	case 3:
		was.Status = beads.Closed
		err = w.Transition(ctx, beads.Transition{Issue: id, To: beads.Closed, At: when, Reason: "done"})
	case 4:
		if len(was.Labels) == 2 {
			was.Labels = []string{"flapping", "hooktrail", "tracking"}
			err = w.Label(ctx, id, "flapping", when)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (m model) check(t *testing.T, l instance) {
	t.Helper()
	got := make(model)
	for id, i := range l.seen(t, "acme") {
		found := &want{Status: i.Status, Labels: i.Labels}
		for _, c := range i.Comments {
			found.Comments = append(found.Comments, c.Text)
		}
		for _, d := range i.Dependencies {
			found.Links = append(found.Links, d.DependsOn)
		}
		got[id] = found
	}
	order := cmpopts.SortSlices(strings.Compare)
	if diff := cmp.Diff(m, got, cmpopts.EquateEmpty(), order); diff != "" {
		t.Errorf("issues (-asked for +found):\n%s", diff)
	}
	if edits := mustEdits(t, l.backend.Workspace("acme")); len(edits) != 0 {
		t.Errorf("own writes are taken for a person's: %+v", edits)
	}
}

// TestBD_KilledAtRandomPoints kills bd before, during and after it stores changes. No issue is
// duplicated, lost or wrong.
//
//guarantee:tracker-killed
func TestBD_KilledAtRandomPoints(t *testing.T) {
	kills := race.Size(80, 10)
	d := openBDFixture(t)
	w := d.backend.Workspace("acme")
	m := make(model)
	began := time.Now()
	killed := 0
	for n := 0; killed < kills; n++ {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("%d kills in two minutes, want %d", killed, kills)
		}
		m.step(t, w, n)
		if n%5 != 0 {
			continue
		}
		d.order(t, orderRandom)
		for range 6 {
			err := d.backend.Export(t.Context())
			if err == nil {
				break
			}
			if !errors.Is(err, beads.ErrTransient) {
				t.Fatal(err)
			}
			killed += strings.Count(err.Error(), "ended by a signal")
		}
	}
	d.order(t, "")
	d.write(t)
	m.check(t, d.instance)
	t.Logf("%d kills in %v", killed, time.Since(began).Round(time.Millisecond))
}

// TestBD_StoppedAtRandomPoints cancels calls at random times and reopens the backend.
//
//guarantee:tracker-killed
func TestBD_StoppedAtRandomPoints(t *testing.T) {
	const stops = 25
	dir := t.TempDir()
	m := make(model)
	stopped := 0
	l := openStandIn(t, dir)
	for n := 0; stopped < stops && n < 1000; n++ {
		m.step(t, l.backend.Workspace("acme"), n)
		if n%4 != 0 {
			continue
		}
		if err := l.backend.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(60_000))*time.Microsecond)
		if err := l.backend.Export(ctx); err != nil {
			stopped++
		}
		cancel()
		l.close(t)
		l = openStandIn(t, dir)
	}
	l.write(t)
	m.check(t, l)
}

// TestBD_KilledWhileAWorkspaceIsMade tests that an unfinished workspace is created again, unless a
// person started it.
func TestBD_KilledWhileAWorkspaceIsMade(t *testing.T) {
	for name, own := range map[string]bool{"Ours": false, "APersons": true} {
		t.Run(name, func(t *testing.T) {
			d := openBDFixture(t)
			half := filepath.Join(d.dir, "workspaces", "acme", ".beads", "half")
			if own {
				if err := errors.Join(os.MkdirAll(filepath.Dir(half), 0o700), os.WriteFile(half, nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			d.order(t, orderHalf)
			d.ensure(t, "ht-1")
			if err := d.backend.Export(t.Context()); err == nil {
				t.Error("a killed bd made a workspace")
			}
			d.order(t, "")
			err := d.backend.Export(t.Context())
			if _, statErr := os.Stat(half); (statErr == nil) != own || (err != nil) != own {
				t.Errorf("got %v, and what was left: %v", err, statErr)
			}
		})
	}
}

// bd can be killed after it wrote metadata.json and before the rest, so the workspace is created again.
func TestBD_KilledAfterTheMetadata(t *testing.T) {
	d := openBDFixture(t)
	folder := filepath.Join(d.dir, "workspaces", "acme", ".beads")
	left := filepath.Join(folder, "left")
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(left, nil, 0o600), os.WriteFile(filepath.Join(folder, "metadata.json"), []byte("{}"), 0o600),
		os.WriteFile(filepath.Join(filepath.Dir(folder), ".hooktrail.init"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	d.ensure(t, "ht-1")
	for range 2 { // the second time keeps the complete workspace
		d.write(t)
	}
	if _, err := os.Stat(left); err == nil || len(d.seen(t, "acme")) != 1 {
		t.Errorf("the unfinished workspace is in use: %v, %d issues", err, len(d.seen(t, "acme")))
	}
}

// hungVariable names the folder of a process that waits for a hung bd.
const hungVariable = "HOOKTRAIL_TEST_HUNG"

// TestBD_EndsWithTheTracker tests that bd does not write after its parent has died.
func TestBD_EndsWithTheTracker(t *testing.T) {
	if dir := os.Getenv(hungVariable); dir != "" {
		_ = openStandIn(t, dir).backend.Export(t.Context())
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child with its parent")
	}
	dir := t.TempDir()
	l := openStandIn(t, dir)
	w := l.backend.Workspace("acme")
	if err := w.Ensure(t.Context(), task("ht-1")); err != nil {
		t.Fatal(err)
	}
	l.write(t)
	if err := errors.Join(w.Ensure(t.Context(), task("ht-2")), l.backend.Flush(t.Context()),
		os.WriteFile(filepath.Join(dir, "orders"), []byte(orderHang), 0o600)); err != nil {
		t.Fatal(err)
	}
	l.close(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBD_EndsWithTheTracker$")
	cmd.Env = append(os.Environ(), hungVariable+"="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "workspaces", "acme", ".beads", "self")
	awaitFile(t, self)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	checkNoChild(t, self)
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for tick := time.Tick(10 * time.Millisecond); ; {
		if data, err := os.ReadFile(path); err == nil && len(data) > 0 {
			return
		}
		select {
		case <-tick:
		case <-deadline:
			t.Fatalf("%s is not there", filepath.Base(path))
		}
	}
}

// killedVariable names the folder and first step of a process that will be killed.
const killedVariable = "HOOKTRAIL_TEST_KILLED"

func workUntilKilled(t *testing.T, order string) {
	t.Helper()
	dir, from, _ := strings.Cut(order, "\n")
	first, err := strconv.Atoi(from)
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, dir)
	if err := r.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := r.Workspace("acme")
	m := make(model)
	for n := range first + stepsMore {
		m.step(t, w, n)
		if n < first {
			continue
		}
		r.write(t)
		if n%7 == 0 && len(mustEdits(t, w)) > 0 {
			t.Fatal("own writes are taken for a person's")
		}
	}
}

const (
	lives     = 40
	stepsLife = 10 // steps between the starts of two processes
	stepsMore = 300
)

// TestStore_KilledAtRandomPoints tests that the file is never incomplete, and that no change of the
// tracker looks like an edit.
//
//guarantee:tracker-killed
func TestStore_KilledAtRandomPoints(t *testing.T) {
	if order := os.Getenv(killedVariable); order != "" {
		workUntilKilled(t, order)
		return
	}
	dir := t.TempDir()
	kills := 0
	for n := range lives {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestStore_KilledAtRandomPoints$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%d", killedVariable, dir, n*stepsLife))
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(10+rand.IntN(150))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		kill.Stop()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Exited() {
			t.Fatalf("%s", &out)
		}
		if err != nil {
			kills++
		}
	}
	l := openEmbedded(t, dir)
	w := l.backend.Workspace("acme")
	if edits := mustEdits(t, w); len(edits) != 0 {
		t.Errorf("own writes are taken for a person's: %+v", edits)
	}
	m := make(model)
	for n := range lives*stepsLife + stepsMore {
		m.step(t, w, n)
	}
	l.write(t)
	m.check(t, l)
	t.Logf("%d kills", kills)
}
