package auditor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func runAccess(tb testing.TB, args ...string) (list []access.Use, waiting uint64) {
	tb.Helper()
	status, out := command(tb, append([]string{"access", "--json"}, args...)...)
	var got struct {
		Accesses []access.Use `json:"accesses"`
		Waiting  uint64       `json:"waiting"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 {
		tb.Fatalf("access: status %d, %v", status, err)
	}
	return got.Accesses, got.Waiting
}

// Each use of evidence is recorded without a broker. The next drain puts the record into the
// ledger.
//
//guarantee:access-recorded
func TestAccess_CommandsAreOnRecord(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "engine", "acme")
	auditortest.PublishRun(t, p, "run-1", 2)
	call := auditortest.AppendEvent(t, p, "run-2", events.ToolBefore, "call-1", events.ToolBeforeData{Tool: "Bash"})
	if err := p.Flush(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	drain(t, b, dir)
	in := []string{"--data-dir", dir, "--tenant", "acme", "--by", "jdoe"}
	out := t.TempDir()
	for _, args := range [][]string{
		{"replay", "--run", "run-1", "--reason", "incident 7"},
		{"export", "--run", "run-2", "--out", filepath.Join(out, "bundle.zip"), "--ticket", "INC-7"},
		{"export", "--format", "csv", "--out", filepath.Join(out, "all.csv")},
		{"proof", call.ID},
		{"access", "--run", "run-1"},
	} {
		if status, _ := command(t, append(args, in...)...); status != 0 {
			t.Fatalf("%v: status %d", args, status)
		}
	}
	if list, waiting := runAccess(t, in...); len(list) != 0 || waiting != 5 {
		t.Errorf("before they were sent %d are in the ledger and %d wait, want 0 and 5", len(list), waiting)
	}
	drain(t, b, dir)
	want := []access.Use{
		{Action: events.AuditReplay, By: "jdoe", Reason: "incident 7", What: &events.AuditSelection{Run: "run-1"}},
		{Action: events.AuditExport, By: "jdoe", Ticket: "INC-7", What: &events.AuditSelection{Run: "run-2"}, As: "bundle"},
		{Action: events.AuditExport, By: "jdoe", As: "csv"},
		{Action: events.AuditProof, By: "jdoe", What: &events.AuditSelection{Event: call.ID}},
		{Action: events.AuditAccess, By: "jdoe", What: &events.AuditSelection{Run: "run-1"}},
		{Action: events.AuditAccess, By: "jdoe"},
	}
	for i := range want {
		want[i].User = osuser.Current()
	}
	ignored := cmpopts.IgnoreFields(access.Use{}, "Leaf", "ID", "Time", "Producer")
	list, waiting := runAccess(t, in...)
	if diff := cmp.Diff(want, list, ignored); diff != "" || waiting != 0 {
		t.Errorf("%d wait, on record (-want +got):\n%s", waiting, diff)
	}
	// The replay of run-1 and the list of run-1 are excluded.
	list, _ = runAccess(t, append(in, "--run", "run-2")...)
	if diff := cmp.Diff([]access.Use{want[1], want[2], want[3], want[5]}, list, ignored); diff != "" {
		t.Errorf("about run-2 (-want +got):\n%s", diff)
	}
	list, _ = runAccess(t, append(in, "--who", "jdoe", "--action", "proof")...)
	if diff := cmp.Diff(want[3:4], list, ignored); diff != "" {
		t.Errorf("proofs (-want +got):\n%s", diff)
	}
	if list, _ = runAccess(t, append(in, "--to", "2020-01-01")...); len(list) != 0 {
		t.Errorf("%d are on record from before 2020", len(list))
	}
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "acme"), "VERIFIED", "COMPLETE")
}

// The use of a copy of a ledger is not recorded, and the command says so. If a record cannot be
// written, the evidence is not read.
//
//guarantee:access-recorded
func TestAccess_WhatCannotBeRecorded(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "engine", "acme"), "run-1", 1)
	drain(t, b, dir)
	elsewhere := filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(elsewhere, auditortest.ReadFile(t, auditortest.LedgerFile(t, dir, "acme")), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (status int, stdout, stderr string) {
		return commandBoth(t, append([]string{"replay", "--run", "run-1", "--data-dir", dir}, args...)...)
	}
	status, out, errs := run("--ledger", elsewhere)
	if status != 0 || out == "" || !strings.Contains(errs, "not recorded") {
		t.Errorf("of a copy: status %d, %d bytes, said %q", status, len(out), errs)
	}
	if status, _, errs = run("--ledger", auditortest.LedgerFile(t, dir, "acme")); status != 0 || strings.Contains(errs, "not recorded") {
		t.Errorf("of the ledger of the data directory by its name: status %d, said %q", status, errs)
	}
	if state, err := publish.Inspect(access.Outbox(dir)); err != nil || state.Waiting != 1 {
		t.Errorf("%d wait (%v), want the one of the data directory's own", state.Waiting, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "outbox")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "outbox"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, errs = run("--tenant", "acme"); status != 1 || out != "" || !strings.Contains(errs, "nothing was done") {
		t.Errorf("without a record: status %d, %d bytes, said %q", status, len(out), errs)
	}
}

// An unreadable record from another producer hides no other record.
//
//guarantee:coverage
func TestAccess_UnreadableOnesHideNothing(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	if _, err := access.Record(t.Context(), dir, "acme", events.AuditAccessedData{Action: events.AuditReplay, By: "jdoe"}); err != nil {
		t.Fatal(err)
	}
	e := events.Event{
		ID: events.NewID(), Source: "/engine", Type: events.AuditAccessed.Type(), Time: time.Now().UTC(),
		Tenant: "acme", Producer: "engine", Sequence: 1, Salt: events.NewSalt(), Data: []byte(`{"action":5,"by":["somebody"]}`),
	}
	subject, err := b.Space().Event("acme", "engine", "", events.AuditAccessed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.JetStream().Publish(auditortest.Deadline(t), subject, e.Encode()); err != nil {
		t.Fatal(err)
	}
	drain(t, b, dir)
	in := []string{"--data-dir", dir, "--tenant", "acme"}
	list, _ := runAccess(t, in...)
	if len(list) != 2 || !list[0].Unreadable || list[0].Producer != "engine" || list[1].By != "jdoe" {
		t.Errorf("got %+v, want one that cannot be read, and jdoe's", list)
	}
	if used := total(covered(t, verifier.ExitIncomplete, in...)).Accesses; len(used) < 2 || used[1].By != "jdoe" {
		t.Errorf("coverage tells of %+v, want jdoe's too", used)
	}
	if _, out := command(t, append([]string{"access"}, in...)...); !strings.Contains(out, "unreadable") || !strings.Contains(out, "sent by engine") {
		t.Errorf("printed:\n%s", out)
	}
}
