package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/metrics"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// addressOf returns where a publisher listens that was just started.
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

// failedRun are the events of a run whose step fails.
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

// TestHook_AnswerLost has hook commands post their events to a publisher whose
// answers get lost, so that they keep them too, in another data directory. When
// their outbox is sent as well, each event is in the stream twice, under one id, and
// counts once: in the ledger, among the issues, in the metrics.
func TestHook_AnswerLost(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	p := serving(t, dir)
	target := addressOf(t, p)
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.URL.Path == "/v1/events" {
				panic(http.ErrAbortHandler)
			}
			return nil
		},
	}
	lossy := httptest.NewServer(forward)
	defer lossy.Close()
	names, bodies := payloads(t, "claude-code/captured-2.1.329")
	for i, body := range bodies {
		hook := start(t, body, "publisher", hookArgs(other, names[i], []string{"claude-code"}, "--publisher", lossy.URL)...)
		if status := hook.status(t); status != 0 || !strings.Contains(hook.stderr.String(), "events stay here") {
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
	p.told(t)
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
	// Each outbox seals the runs that it sent, and that is decided on too.
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

// projected returns the issues and the metrics of all that is in the stream.
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
