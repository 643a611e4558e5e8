package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/metrics"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func addressOf(t *testing.T, p *process) *url.URL {
	t.Helper()
	var said struct{ Address string }
	waitUntil(t, "the publisher tells its address", func() bool {
		for line := range strings.Lines(p.stderr.String()) {
			if json.Unmarshal([]byte(line), &said) == nil && said.Address != "" {
				return true
			}
		}
		return false
	})
	return &url.URL{Scheme: "http", Host: said.Address}
}

func failedRun(t *testing.T) (list []events.Event) {
	t.Helper()
	add := func(id string, kind events.Kind, data any) {
		e, err := events.New(kind, "/e2e", data)
		if err != nil {
			t.Fatal(err)
		}
		e.ID, e.Run, e.Step, e.RunType, e.Tenant = id, "failed-run", "step-1", "RESOLVE", "default"
		list = append(list, e)
	}
	add("h-1", events.RunStarted, events.RunStartedData{RunType: "RESOLVE"})
	add("h-2", events.StepFinished, events.StepFinishedData{
		RunType: "RESOLVE", AgentRole: "CODER", StepStatus: events.StepFailed, TokensUsed: &events.Tokens{Input: 7, Output: 3},
	})
	add("h-3", events.RunFinished, events.RunFinishedData{TokensUsed: &events.Tokens{Input: 7, Output: 3}})
	return list
}

// A publisher's answers to hook commands are lost, so the hook commands also store their events in
// an outbox of another data directory. The stream then has each event twice with the same id.
// Ledger, issues and metrics count it once.
//
//guarantee:answer-lost
func TestHook_AnswerLost(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	p := serving(t, dir)
	target := addressOf(t, p)
	lossy := httptest.NewServer(losing(t, target, "/v1/events"))
	defer lossy.Close()
	names, bodies := payloads(t, "claude-code/captured-2.1.329")
	for i, again := 0, 0; i < len(bodies); i++ {
		kept := filepath.Join(t.TempDir(), "kept")
		if out, err := exec.Command("cp", "-a", other, kept).CombinedOutput(); err != nil {
			t.Fatalf("copy: %v: %s", err, out)
		}
		hook := start(t, bodies[i], "publisher", hookArgs(other, names[i], []string{"claude-code"}, "--publisher", lossy.URL)...)
		status := hook.status(t)
		if strings.Contains(hook.stderr.String(), "publisher does not answer") { // on a busy machine
			if again++; again > 20 {
				t.Fatalf("%s: a publisher that answers at once was given up %d times: %s", names[i], again, hook.stderr.String())
			}
			if err := errors.Join(os.RemoveAll(other), os.Rename(kept, other)); err != nil {
				t.Fatal(err)
			}
			i--
			continue
		}
		if status != 0 || !strings.Contains(hook.stderr.String(), "events stay here") {
			t.Fatalf("%s: exit status %d, %s", names[i], status, hook.stderr.String())
		}
	}
	for _, e := range failedRun(t) {
		resp, err := http.Post(target.String()+"/v1/events", "application/cloudevents+json", strings.NewReader(string(e.Append(nil))))
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusAccepted {
			t.Fatalf("post: %s", resp.Status)
		}
		opts := publish.SharedOptions{Redactor: publish.NoRedaction}
		if _, err := publish.AppendShared(t.Context(), filepath.Join(other, "outbox", "shared"), opts, e); err != nil {
			t.Fatal(err)
		}
	}
	p.stopCleanly(t)
	issuesBefore, metricsBefore := projected(t, dir)
	before := inLedger(t, dir)
	once(t, before)
	if len(issuesBefore) != 1 || metricsBefore.ToolCalls == 0 || metricsBefore.TokensUsed.Input == 0 {
		t.Errorf("%d issues, metrics %+v", len(issuesBefore), metricsBefore)
	}

	if err := os.Rename(filepath.Join(other, "outbox", "shared"), filepath.Join(dir, "outbox", "elsewhere")); err != nil {
		t.Fatal(err)
	}
	run(t, 0, "publisher", "outbox", "flush", "--data-dir", dir)
	issuesAfter, metricsAfter := projected(t, dir)
	after := inLedger(t, dir)
	once(t, after)
	// Each outbox seals its runs, and the tracker also decides about the seals.
	delete(before, events.IssueDecided)
	delete(after, events.IssueDecided)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("events in the ledger (-before +after):\n%s", diff)
	}
	report := run(t, 0, "auditor", "verify", "--json", "--data-dir", dir)
	if !strings.Contains(report, `"seen_again"`) || strings.Contains(report, `"seen_again":0,`) {
		t.Errorf("nothing came twice: %s", report)
	}
	if diff := cmp.Diff(issuesBefore, issuesAfter); diff != "" {
		t.Errorf("issues (-before +after):\n%s", diff)
	}
	metricsAfter.StreamApplied = metricsBefore.StreamApplied
	if diff := cmp.Diff(metricsBefore, metricsAfter); diff != "" {
		t.Errorf("metrics (-before +after):\n%s", diff)
	}
}

// losing forwards requests to target and drops the answers for path. Every answer starts at once,
// because the timeouts of hook commands are not under test.
func losing(t *testing.T, target *url.URL, path string) http.HandlerFunc {
	t.Helper()
	return func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("forward to %s: %v", r.URL.Path, err)
		}
		if err := http.NewResponseController(rw).Flush(); err != nil {
			t.Errorf("forward to %s: %v", r.URL.Path, err)
		}
		resp, err := http.Post(target.JoinPath(r.URL.Path).String(), r.Header.Get("Content-Type"), bytes.NewReader(body))
		if err != nil {
			t.Errorf("forward to %s: %v", r.URL.Path, err)
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		if resp.StatusCode >= http.StatusMultipleChoices {
			t.Errorf("forward to %s: %s", r.URL.Path, resp.Status)
		}
		if r.URL.Path == path {
			panic(http.ErrAbortHandler)
		}
		if _, err := io.Copy(rw, resp.Body); err != nil {
			t.Errorf("forward to %s: %v", r.URL.Path, err)
		}
	}
}

func projected(t *testing.T, dir string) ([]map[string]any, metrics.Summary) {
	t.Helper()
	run(t, 0, "tracker", "serve", "--drain", "--data-dir", dir)
	run(t, 0, "metrics", "serve", "--drain", "--data-dir", dir, "--listen", "127.0.0.1:0")
	s, err := metrics.Snapshot(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return issues(t, dir), s
}
