package publisher

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A canary is denied and recorded in the dialect of each agent, whoever decides, and its
// session ends. The agent gets another reason if the event cannot be recorded.
//
//guarantee:canary
func TestCanary(t *testing.T) {
	_, b := open(t)
	for _, name := range agents.Names() {
		t.Run(name, func(t *testing.T) {
			tool, err := agents.Named(name)
			if err != nil {
				t.Fatal(err)
			}
			c := tool.Canary("1", "/p", time.Now())
			call := hookclienttest.Removal{Tool: name, Event: c.CallEvent, Payload: string(c.Call)}
			ask := func(opts hookclient.Options) string {
				t.Helper()
				got := answerHook(t, call, opts)
				reason, denied := agents.ReadDenial([]byte(got.Stdout))
				if got.Status != 0 || !denied {
					t.Errorf("got %+v", got)
				}
				return reason
			}
			dir := t.TempDir()
			if got := ask(hookclient.Options{DataDir: dir}); !strings.HasPrefix(got, agents.CanaryReason) || !strings.Contains(got, "no publisher is running") {
				t.Errorf("without a publisher: %s", got)
			}
			answerHook(t, hookclienttest.Removal{Tool: name, Event: c.EndEvent, Payload: string(c.End)}, hookclient.Options{DataDir: dir})
			list := recorded(t, dir)
			calls := hookclienttest.Calls(t, list)
			if len(calls) != 1 || calls[0].Verdict != events.VerdictDeny || calls[0].Tool != agents.CanaryTool {
				t.Errorf("recorded %+v", calls)
			}
			if last := list[len(list)-1]; last.Run != "hooktrail-canary-1" || last.Kind() != events.RunFinished && last.Kind() != events.RunSealed {
				t.Errorf("the session ends with %s of %s", last.Kind(), last.Run)
			}

			dir = t.TempDir()
			r := runServer(t, Options{Broker: b, DataDir: dir})
			if got := ask(hookclient.Options{DataDir: dir}); got != agents.CanaryReason+" (by the publisher)." {
				t.Errorf("with a publisher: %s", got)
			}
			r.end(t)

			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := ask(hookclient.Options{DataDir: file}); strings.HasPrefix(got, agents.CanaryReason) {
				t.Errorf("not recorded: %s", got)
			}
		})
	}
}

// A publisher that cannot record a canary does not deny it either.
func TestCanary_Full(t *testing.T) {
	_, b := open(t)
	service, err := NewHookService(nil, full{}, Options{DataDir: t.TempDir(), Broker: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.close(context.Background()) })
	tool, err := agents.Named("codex")
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	payload := string(tool.Canary("1", "/p", time.Now()).Call)
	Handler(full{}, HandlerOptions{Hooks: service}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/hooks/codex", strings.NewReader(payload)))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
