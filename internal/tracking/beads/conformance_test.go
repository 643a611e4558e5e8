package beads_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

type instance struct {
	dir     string
	backend interface {
		Workspace(tenant string) beads.Backend
		Flush(ctx context.Context) error
		Export(ctx context.Context) error
	}
	close func(t *testing.T)
	seen  func(t *testing.T, tenant string) map[string]beads.Issue // issues that people see
	edit  func(t *testing.T, tenant, id string, e beads.Edit)      // edits as people do
	run   func(t *testing.T, tenant string, args ...string) []byte // runs bd as people do
}

func (l instance) write(t *testing.T) {
	t.Helper()
	if err := errors.Join(l.backend.Flush(t.Context()), l.backend.Export(t.Context())); err != nil {
		t.Fatal(err)
	}
}

type opener func(t *testing.T, dir string) instance

func begin(t *testing.T, open opener) (instance, beads.Backend) {
	t.Helper()
	l := open(t, t.TempDir())
	return l, l.backend.Workspace("acme")
}

func TestBackends(t *testing.T) {
	openReal := func(t *testing.T, dir string) instance {
		t.Helper()
		return openBD(t, dir, os.Getenv("HOOKTRAIL_TEST_BD"))
	}
	for name, open := range map[string]opener{"Embedded": openEmbedded, "StandIn": openStandIn, "Real": openReal} {
		t.Run(name, func(t *testing.T) {
			if name == "Real" && os.Getenv("HOOKTRAIL_TEST_BD") == "" {
				t.Skip("HOOKTRAIL_TEST_BD does not name a Beads CLI")
			}
			for name, test := range map[string]func(*testing.T, opener){
				"Story":          checkStory,
				"Repeats":        checkRepeats,
				"Fates":          checkFates,
				"Comments":       checkComments,
				"HostileTexts":   checkHostileTexts,
				"Edits":          checkEdits,
				"OwnWrites":      checkOwnWrites,
				"PeopleWin":      checkPeopleWin,
				"Descriptions":   checkDescriptions,
				"ForeignIssues":  checkForeignIssues,
				"Erase":          checkErase,
				"LostInBetween":  checkLostInBetween,
				"ManyWorkspaces": checkManyWorkspaces,
			} {
				t.Run(name, func(t *testing.T) { test(t, open) })
			}
		})
	}
}

func openEmbedded(t *testing.T, dir string) instance {
	t.Helper()
	r := open(t, dir)
	path := func(t *testing.T, tenant string) string {
		t.Helper()
		path, err := beads.File(r.dir, tenant)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	return instance{
		dir:     dir,
		backend: r.Store,
		close: func(t *testing.T) {
			t.Helper()
			if err := r.db.Close(); err != nil {
				t.Fatal(err)
			}
		},
		seen: func(t *testing.T, tenant string) map[string]beads.Issue {
			t.Helper()
			data, err := os.ReadFile(path(t, tenant))
			if err != nil {
				t.Fatal(err)
			}
			return parseAll(t, data)
		},
		edit: func(t *testing.T, tenant, id string, e beads.Edit) {
			t.Helper()
			editFile(t, path(t, tenant), id, e)
		},
	}
}

func parseAll(t *testing.T, data []byte) map[string]beads.Issue {
	t.Helper()
	all := make(map[string]beads.Issue)
	for line := range bytes.Lines(data) {
		i, err := beads.ParseLine(line)
		if err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if _, ok := all[i.ID]; ok {
			t.Errorf("issue %s is there twice", i.ID)
		}
		all[i.ID] = i
	}
	return all
}

func editFile(t *testing.T, path, id string, e beads.Edit) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	found := false
	for line := range bytes.Lines(data) {
		var record map[string]any
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		if record["id"] == id {
			found = true
			editRecord(record, e)
		}
		if line, err = json.Marshal(record); err != nil {
			t.Fatal(err)
		}
		out = append(append(out, line...), '\n')
	}
	if !found {
		out = append(out, `{"id":"`+id+`","title":"`+e.Value+`","status":"open","priority":2,"issue_type":"bug",`+
			`"created_at":"2026-03-01T09:00:00Z","updated_at":"2026-03-01T09:00:00Z","mood":{"of":"a person"}}`+"\n"...)
	}
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

func editRecord(record map[string]any, e beads.Edit) {
	stamp := time.Now().UTC().Format(time.RFC3339Nano)
	record["updated_at"] = stamp
	switch e.Action {
	case beads.ActionRetitled:
		record["title"] = e.Value
	case beads.ActionAssigned:
		record["assignee"] = e.Value
	case beads.ActionReopened:
		record["status"] = "open"
		delete(record, "closed_at")
		delete(record, "close_reason")
	case beads.ActionClosed, beads.ActionNotPlanned:
		record["status"], record["closed_at"], record["close_reason"] = "closed", stamp, closingReason(e)
	default: // description
		record["description"] = e.Value
	}
}

func closingReason(e beads.Edit) string {
	if e.Action == beads.ActionNotPlanned {
		return "Won't fix: not planned"
	}
	return "fixed by hand"
}

func openStandIn(t *testing.T, dir string) instance {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return openBD(t, dir, os.Args[0], standInEnv(dir)...)
}

// standInEnv makes this test binary a stand-in for bd. It avoids the exit delay of the race
// detector.
func standInEnv(dir string) []string {
	return []string{ordersVariable + "=" + filepath.Join(dir, "orders"), "GORACE=atexit_sleep_ms=0"}
}

func openBD(t *testing.T, dir, path string, env ...string) instance {
	t.Helper()
	r := open(t, dir)
	b, err := beads.NewBD(beads.BDOptions{Path: path, Dir: filepath.Join(dir, "workspaces"), DB: r.db, Pace: time.Millisecond, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := newInstance(b, dir, path, env...)
	l.close = func(t *testing.T) {
		t.Helper()
		if err := r.db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func newInstance(b *beads.BD, dir, path string, env ...string) instance {
	l := instance{dir: dir, backend: b}
	l.run = func(t *testing.T, tenant string, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Dir = filepath.Join(dir, "workspaces", tenant)
		cmd.Env = append(append(os.Environ(), env...), "BD_JSON_ENVELOPE=1", "DOLT_METRICS_DISABLED=1", "BEADS_DIR="+filepath.Join(cmd.Dir, ".beads"))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("bd %s: %v", strings.Join(args, " "), err)
		}
		return out
	}
	l.seen = func(t *testing.T, tenant string) map[string]beads.Issue {
		t.Helper()
		return parseAll(t, l.run(t, tenant, "export"))
	}
	l.edit = func(t *testing.T, tenant, id string, e beads.Edit) {
		t.Helper()
		switch e.Action {
		case beads.ActionRetitled:
			l.run(t, tenant, "update", id, "--title="+e.Value)
		case beads.ActionAssigned:
			l.run(t, tenant, "update", id, "--assignee="+e.Value)
		case beads.ActionReopened:
			l.run(t, tenant, "reopen", id)
		case beads.ActionClosed, beads.ActionNotPlanned:
			l.run(t, tenant, "close", id, "--reason="+closingReason(e))
		case "":
			l.run(t, tenant, "update", id, "--description="+e.Value)
		default: // create another issue
			own := filepath.Join(dir, "own.jsonl")
			line := `{"id":"` + id + `","title":"` + e.Value + `","status":"open","priority":2,"issue_type":"bug"}`
			if err := os.WriteFile(own, []byte(line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			l.run(t, tenant, "import", own)
		}
	}
	return l
}
