package beads_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

// bdFixture uses a stand-in for bd that can misbehave.
type bdFixture struct {
	instance
	log *bytes.Buffer
}

func openBDFixture(t *testing.T, options ...func(*beads.BDOptions)) bdFixture {
	t.Helper()
	dir := t.TempDir()
	r := open(t, dir)
	d := bdFixture{log: new(bytes.Buffer)}
	opts := beads.BDOptions{
		Path: os.Args[0], Dir: filepath.Join(dir, "workspaces"), DB: r.db, Pace: time.Millisecond,
		Env: standInEnv(dir), Logger: slog.New(slog.NewTextHandler(d.log, nil)),
	}
	for _, set := range options {
		set(&opts)
	}
	b, err := beads.NewBD(opts)
	if err != nil {
		t.Fatal(err)
	}
	d.instance = newInstance(b, dir, os.Args[0], opts.Env...)
	return d
}

func shortDeadline(o *beads.BDOptions) { o.Deadline = 3 * time.Second }

func (d bdFixture) order(t *testing.T, order string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, "orders"), []byte(order), 0o600); err != nil {
		t.Fatal(err)
	}
}

// calls returns the bd commands since the last call of calls.
func (d bdFixture) calls(t *testing.T) []string {
	t.Helper()
	path := filepath.Join(d.dir, "orders.calls")
	data, err := os.ReadFile(path)
	if err = errors.Join(err, os.Remove(path)); err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

func (d bdFixture) ensure(t *testing.T, ids ...string) beads.Backend {
	t.Helper()
	w := d.backend.Workspace("acme")
	for _, id := range ids {
		if err := w.Ensure(t.Context(), task(id)); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// TestBD_Faults tests for each failure that the error is right, that nothing wrong is stored, and
// that a retry stores everything.
//
//guarantee:backend-fails
func TestBD_Faults(t *testing.T) {
	for order, test := range map[string]struct {
		want   error
		stored int // 1 if bd stores the new issue during the failure
	}{
		orderOther:    {beads.ErrUnavailable, 0},
		orderOld:      {beads.ErrUnavailable, 0},
		orderHang:     {beads.ErrUnavailable, 0},
		orderDeaf:     {beads.ErrUnavailable, 0},
		orderHangLate: {beads.ErrUnavailable, 1},
		orderLie:      {beads.ErrTransient, 0},
		orderTruncate: {beads.ErrTransient, 0},
		orderForget:   {beads.ErrTransient, 0},
		orderBusy:     {beads.ErrTransient, 0},
		orderFail:     {beads.ErrTransient, 0},
		orderBefore:   {beads.ErrTransient, 0},
		orderAfter:    {beads.ErrTransient, 1},
		orderNothing:  {nil, 1},
	} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			d := openBDFixture(t, shortDeadline)
			if order != orderOther && order != orderOld { // only the first check of the version finds these
				d.ensure(t, "ht-1")
				d.write(t)
				d.edit(t, "acme", "ht-1", beads.Edit{Action: beads.ActionAssigned, Value: "jdoe"})
			}
			d.order(t, order)
			w := d.ensure(t, "ht-1", "ht-2")
			if err := d.backend.Export(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			d.order(t, "")
			if _, err := os.Stat(filepath.Join(d.dir, "workspaces", "acme", ".beads")); err == nil {
				if _, ok := d.seen(t, "acme")["ht-2"]; ok != (test.stored == 1) {
					t.Errorf("the new issue is there: %v", ok)
				}
			}
			if err := w.Transition(t.Context(), beads.Transition{Issue: "ht-2", To: beads.Blocked, At: at(1)}); err != nil {
				t.Fatal(err)
			}
			d.write(t)
			seen := d.seen(t, "acme")
			if len(seen) != 2 || seen["ht-2"].Status != beads.Blocked {
				t.Errorf("afterwards: %+v", seen)
			}
			if order != orderOther && order != orderOld && seen["ht-1"].Assignee != "jdoe" {
				t.Error("a person's assignment was lost")
			}
			if leftovers, err := filepath.Glob(filepath.Join(d.dir, "workspaces", "acme", ".hooktrail-*")); err != nil || len(leftovers) > 0 {
				t.Errorf("files are left over: %q", leftovers)
			}
			checkNoChild(t, filepath.Join(d.dir, "workspaces", "acme", ".beads", "child"))
		})
	}
}

func checkNoChild(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.After(10 * time.Second)
	for tick := time.Tick(10 * time.Millisecond); ; {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil && syscall.Kill(pid, 0) != nil || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		select {
		case <-tick:
		case <-deadline:
			t.Fatal("a process of its group is left")
		}
	}
}

func TestBD_MissingProgramIsToldAndTheBacklogDrains(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bd")
	d := openBDFixture(t, func(o *beads.BDOptions) { o.Path = path })
	w := d.ensure(t, "ht-1", "ht-2")
	for name, err := range map[string]error{"export": d.backend.Export(t.Context()), "probe": w.Probe(t.Context())} {
		if !errors.Is(err, beads.ErrUnavailable) || !strings.Contains(err.Error(), "--bd") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := os.Symlink(os.Args[0], path); err != nil {
		t.Fatal(err)
	}
	if err := w.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	d.write(t)
	if got := len(d.seen(t, "acme")); got != 2 {
		t.Errorf("got %d issues, want 2", got)
	}
}

func TestBD_AnotherProgramIsNamed(t *testing.T) {
	d := openBDFixture(t)
	d.order(t, orderOther)
	err := d.ensure(t, "ht-1").Probe(t.Context())
	if !errors.Is(err, beads.ErrUnavailable) || !strings.Contains(err.Error(), "another program") || !strings.Contains(err.Error(), "--bd") {
		t.Errorf("got %v", err)
	}
}

// TestBD_FewCalls tests that BD collects changes, and gives no process more work than its deadline
// allows.
func TestBD_FewCalls(t *testing.T) {
	d := openBDFixture(t)
	var ids []string
	for n := range 50 {
		ids = append(ids, fmt.Sprintf("ht-%02d", n))
	}
	w := d.ensure(t, ids...)
	d.write(t)
	if got := d.calls(t); !slices.Equal(got, slices.Concat([]string{"version", "init"}, slices.Repeat([]string{"show", "import", "show"}, 5))) {
		t.Errorf("new issues: %q", got)
	}
	for n, id := range ids {
		for s, to := range []beads.Status{beads.InProgress, beads.Blocked, beads.InProgress, beads.Closed} {
			if err := w.Transition(t.Context(), beads.Transition{Issue: id, To: to, At: at(100*n + s), Reason: "done"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.write(t)
	if got := d.calls(t); !slices.Equal(got, slices.Repeat([]string{"show", "batch", "show"}, 5)) {
		t.Errorf("200 transitions: %q", got)
	}
	d.ensure(t, ids...)
	d.write(t)
	if _, err := os.Stat(filepath.Join(d.dir, "orders.calls")); err == nil {
		t.Errorf("nothing new: %q", d.calls(t))
	}
}

func TestBD_LinksToIssuesOfALaterRound(t *testing.T) {
	d := openBDFixture(t)
	w := d.ensure(t, "ht-last")
	for n := range 25 {
		id := fmt.Sprintf("ht-%02d", n)
		link := beads.Dependency{Issue: id, DependsOn: "ht-last", Type: "discovered-from", CreatedAt: epoch}
		if err := errors.Join(w.Ensure(t.Context(), task(id)), w.Link(t.Context(), link)); err != nil {
			t.Fatal(err)
		}
	}
	d.write(t)
	for id, i := range d.seen(t, "acme") {
		if len(i.Dependencies) != 1 && id != "ht-last" {
			t.Errorf("%s has %d links, want 1", id, len(i.Dependencies))
		}
	}
}

func TestBD_PaceIsKept(t *testing.T) {
	d := openBDFixture(t, func(o *beads.BDOptions) { o.Pace = 300 * time.Millisecond })
	w := d.ensure(t, "ht-1")
	d.write(t)
	began := time.Now()
	for n := range 3 {
		if err := w.Transition(t.Context(), beads.Transition{Issue: "ht-1", To: []beads.Status{beads.Blocked, beads.Open}[n%2], At: at(n + 1)}); err != nil {
			t.Fatal(err)
		}
		d.write(t)
	}
	if took := time.Since(began); took < 800*time.Millisecond {
		t.Errorf("three rounds took %v", took)
	}
}

// TestBD_IDsThatMatchByAPartAreNotTaken lets bd answer with other issues whose ids contain the
// digits.
func TestBD_IDsThatMatchByAPartAreNotTaken(t *testing.T) {
	d := openBDFixture(t)
	d.ensure(t, "ht-1")
	d.write(t)
	others := []string{"zz-951", "zz-837", "zz-873"}
	for _, id := range others {
		d.edit(t, "acme", id, beads.Edit{Action: "created", Value: "a person's own"})
	}
	before := d.seen(t, "acme")
	d.ensure(t, "ht-5", "ht-7")
	d.write(t)
	seen := d.seen(t, "acme")
	for _, id := range others {
		if seen[id].Title != before[id].Title {
			t.Errorf("%s: got %q", id, seen[id].Title)
		}
	}
	if seen["ht-5"].Title == "" || seen["ht-7"].Title == "" {
		t.Errorf("got %q and %q", seen["ht-5"].Title, seen["ht-7"].Title)
	}
}

func TestBD_RefusedIssuesDoNotKeepOthersOut(t *testing.T) {
	d := openBDFixture(t)
	d.order(t, orderReject)
	w := d.ensure(t, "ht-1", "ht-3")
	bad := task("ht-2")
	bad.Title = "poison"
	if err := w.Ensure(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if err := d.backend.Export(t.Context()); !errors.Is(err, beads.ErrTransient) {
			t.Errorf("try %d: got %v", n, err)
		}
	}
	d.write(t)
	if seen := d.seen(t, "acme"); len(seen) != 2 {
		t.Errorf("got %d issues, want 2", len(seen))
	}
	if !strings.Contains(d.log.String(), "issue=ht-2") || strings.Contains(d.log.String(), "poison") {
		t.Errorf("log:\n%s", d.log)
	}
}

func TestBD_DeletedIssuesStayDeleted(t *testing.T) {
	d := openBDFixture(t)
	w := d.ensure(t, "ht-1", "ht-2")
	d.write(t)
	d.run(t, "acme", "delete", "--force", "ht-1")
	if err := w.Transition(t.Context(), beads.Transition{Issue: "ht-1", To: beads.Blocked, At: at(1)}); err != nil {
		t.Fatal(err)
	}
	d.write(t)
	if seen := d.seen(t, "acme"); len(seen) != 1 {
		t.Errorf("got %d issues, want 1", len(seen))
	}
}

func TestBD_OneHungWorkspaceKeepsNoOtherBack(t *testing.T) {
	d := openBDFixture(t, shortDeadline)
	for _, tenant := range []string{"acme", "beta"} {
		if err := d.backend.Workspace(tenant).Ensure(t.Context(), task("ht-1")); err != nil {
			t.Fatal(err)
		}
	}
	hung := filepath.Join(d.dir, "workspaces", "acme", ".beads")
	if err := errors.Join(os.MkdirAll(hung, 0o700), os.WriteFile(filepath.Join(hung, "orders"), []byte(orderHang), 0o600),
		os.WriteFile(filepath.Join(hung, "metadata.json"), []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	err := d.backend.Export(t.Context())
	if !errors.Is(err, beads.ErrTransient) || errors.Is(err, beads.ErrUnavailable) || !strings.Contains(err.Error(), "acme") {
		t.Errorf("got %v", err)
	}
	if len(d.seen(t, "beta")) != 1 {
		t.Error("the other workspace was kept back")
	}
	// Only the hung workspace has changes now. ErrUnavailable would stop the reader for all
	// tenants.
	if err := d.backend.Export(t.Context()); !errors.Is(err, beads.ErrTransient) || errors.Is(err, beads.ErrUnavailable) {
		t.Errorf("alone: got %v", err)
	}
}

func TestBD_OneWorkspaceThatCannotBeKeepsNoOtherBack(t *testing.T) {
	d := openBDFixture(t, shortDeadline)
	for _, tenant := range []string{"acme", "beta"} {
		if err := d.backend.Workspace(tenant).Ensure(t.Context(), task("ht-1")); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(d.dir, "workspaces"), 0o700),
		os.WriteFile(filepath.Join(d.dir, "workspaces", "acme"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.backend.Export(t.Context()); err == nil || errors.Is(err, beads.ErrUnavailable) || !strings.Contains(err.Error(), "acme") {
			t.Errorf("got %v", err)
		}
	}
	if len(d.seen(t, "beta")) != 1 {
		t.Error("the other workspace was kept back")
	}
}

func TestBD_StopsWhenToldTo(t *testing.T) {
	d := openBDFixture(t)
	d.ensure(t, "ht-1")
	d.order(t, orderHang)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := d.backend.Export(ctx); !errors.Is(err, beads.ErrTransient) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
