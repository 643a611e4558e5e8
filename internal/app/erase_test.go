package app

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

// filesWith returns the files in dir that contain text, except for the broker's, because the stream
// keeps its copy until it expires.
func filesWith(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a running service removed it
		case err != nil:
			return err
		case d.IsDir() && path == filepath.Join(dir, "nats"):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if bytes.Contains(data, []byte(text)) {
			files = append(files, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// No file of a service has text of an erased run, not even in free pages, logs or outboxes. The
// ledger has the record of the erasure. Another run stays.
//
//guarantee:erase-everywhere
func TestRun_ErasedTextIsInNoFile(t *testing.T) {
	const secret, other = "mortgage of the Smiths", "weather of tomorrow"
	dir := t.TempDir()
	r := startUp(t, dir)
	r.until(t, "readiness", isReady)
	var batch []string
	add := func(run, kind, data string) {
		batch = append(batch, fmt.Sprintf(`{"specversion":"1.0","id":"e-%d","source":"/engine","type":"hooktrail.%s","subject":"%s",`+
			`"runid":"%s","stepid":"s1","runtype":"RESOLVE","userid":"jane","time":"2026-01-01T00:00:%02dZ","data":%s}`,
			len(batch), kind, run, run, len(batch), data))
	}
	for run, text := range map[string]string{"r1": secret, "r2": other} {
		add(run, "run.started", fmt.Sprintf(`{"run_type":"RESOLVE","title":%q}`, text))
		add(run, "tool.result", fmt.Sprintf(`{"tool":"Read","status":"success","result":%q}`, text))
		add(run, "tool.result", fmt.Sprintf(`{"tool":"Read","status":"success","result":%q}`, strings.Repeat(text+" ", 60_000))) // large enough to travel in parts
		add(run, "step.finished", fmt.Sprintf(`{"agent_role":"CODER","step_status":"completed","output_summary":"Done. Out of scope: %s."}`, text))
		add(run, "run.finished", fmt.Sprintf(`{"success":false,"error":{"message":%q}}`, text))
	}
	status, body, err := ask(http.Post(r.HTTP+"/v1/events", "application/cloudevents-batch+json",
		strings.NewReader("["+strings.Join(batch, ",")+"]")))
	if err != nil || status != http.StatusAccepted {
		t.Fatalf("got %d, %v: %s", status, err, body)
	}
	issues := func() (list []tracker.Issue) {
		list, err := tracker.List(t.Context(), dir, "default")
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	r.until(t, "both runs being everywhere", func(_ int, parts map[string]ServiceStatus) bool {
		for _, p := range parts {
			if p.Lag > 0 {
				return false
			}
		}
		with := strings.Join(filesWith(t, dir, secret), " ")
		return len(issues()) >= 2 && strings.Contains(with, "ledger.db") && strings.Contains(with, "agentfs") && strings.Contains(with, "issues.jsonl")
	})
	var out bytes.Buffer
	cmd := auditor.Command()
	cmd.SetOut(&out)
	cmd.SetErr(t.Output())
	if status := cli.Execute(t.Context(), cmd, []string{"erase", "--data-dir", dir, "--run", "r1", "--reason", "asked to", "--by", "jdoe"}); status != 0 {
		t.Fatalf("erase: status %d: %s", status, out.String())
	}
	if !strings.Contains(out.String(), "the stream keeps its own copy until") {
		t.Errorf("erase says nothing of the stream:\n%s", out.String())
	}
	r.stop()
	if files := filesWith(t, dir, secret); len(files) > 0 {
		t.Errorf("what was erased is in %v", files)
	}
	if files := filesWith(t, dir, other); len(files) < 3 {
		t.Errorf("what was not erased is in %v only", files)
	}
	for _, i := range issues() {
		if (i.Title == "erased") != (i.Run == "r1") {
			t.Errorf("the issue of %s is called %q", i.Run, i.Title)
		}
	}
}
