package metrics

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

//guarantee:text-hostile
func TestExposed(t *testing.T) {
	seen := map[string]string{}
	rapid.Check(t, func(r *rapid.T) {
		value := rapid.StringOf(rapid.SampledFrom([]rune("ab\\x1bu202e\x1b\r\u202e\uFFFD\a"))).Draw(r, "value")
		got := exposed(value)
		if termtext.Printable(got) != got {
			r.Errorf("%q is exposed as %q", value, got)
		}
		if other, ok := seen[got]; ok && other != value {
			r.Errorf("%q and %q are exposed as %q", value, other, got)
		}
		seen[got] = value
	})
	if got := exposed("Bash é\n"); got != "Bash é\n" {
		t.Errorf("an ordinary value is exposed as %q", got)
	}
}

// counted returns the metrics of two calls: one of a hostile tool, and one of a tool with the
// escaped name.
func counted(t *testing.T) *prometheus.Registry {
	t.Helper()
	server := natstest.Listen(t, t.TempDir())
	publish(t, server.JetStream(t),
		event(t, 0, events.ToolBefore, events.ToolBeforeData{Tool: "\x1b[31mevil\u202e"}, call("1")),
		event(t, 1, events.ToolBefore, events.ToolBeforeData{Tool: `\x1b[31mevil\u202e`}, call("2")))
	registry, read := prometheus.NewRegistry(), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	opts := Options{Broker: connect(t, server), DataDir: t.TempDir(), Registry: registry, Progress: func(p consume.Progress) {
		if p.Position.Sequence == 2 && p.Lag == 0 {
			select {
			case <-read:
			default:
				close(read)
			}
		}
	}}
	go func() { done <- Run(ctx, opts) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	<-read
	return registry
}

func scrape(h http.Handler, authorization string) (status int, body string) {
	r := httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func FuzzParseReaders(f *testing.F) {
	f.Add("a token of a reader\n")
	f.Add("tenant acme a token of a reader\na token of a reader\n")
	f.Add("tenant  \n\ntenant a")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseReaders(text)
		for _, r := range list {
			if err == nil && (len(r.token) < minToken || r.token != strings.TrimSpace(r.token) || r.all != (r.tenant == "")) {
				t.Errorf("got %+v", r)
			}
		}
		if err == nil && len(list) != 1+strings.Count(strings.TrimSpace(text), "\n") {
			t.Errorf("%d readers", len(list))
		}
	})
}

// If a token is configured, only its reader sees series of tenants.
//
//guarantee:metrics-reader
func TestAccess_Handler(t *testing.T) {
	registry := counted(t)
	file := filepath.Join(t.TempDir(), "token")
	const token, acme, other = "a token of a reader", "of the reader of acme", "of another tenant's reader"
	if err := os.WriteFile(file, []byte(token+"\ntenant acme "+acme+"\ntenant other "+other+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open, closed := Access{}, Access{TokenFile: file}
	if err := closed.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name          string
		access        Access
		authorization string
		status        int
		tenants       bool
	}{
		{"no token file", open, "", http.StatusOK, true},
		{"the reader", closed, "Bearer " + token, http.StatusOK, true},
		{"the reader of its tenant", closed, "Bearer " + acme, http.StatusOK, true},
		{"the reader of another tenant", closed, "Bearer " + other, http.StatusOK, false},
		{"a line of the file", closed, "Bearer tenant acme " + acme, http.StatusUnauthorized, false},
		{"nobody", closed, "", http.StatusOK, false},
		{"another token", closed, "Bearer " + token + "x", http.StatusUnauthorized, false},
		{"another scheme", closed, "Basic " + token, http.StatusUnauthorized, false},
		{"a file that is gone", Access{TokenFile: file + "x"}, "Bearer " + token, http.StatusServiceUnavailable, false},
	} {
		status, body := scrape(tt.access.Handler(registry), tt.authorization)
		if status != tt.status || strings.Contains(body, "evil") != tt.tenants || strings.Contains(body, "acme") != tt.tenants {
			t.Errorf("%s: status %d\n%s", tt.name, status, body)
		}
		if status == http.StatusOK && !strings.Contains(body, `hooktrail_consumer_healthy{consumer="metrics"} 1`) {
			t.Errorf("%s: the state of the service is missing", tt.name)
		}
		if termtext.Printable(body) != body {
			t.Errorf("%s: control characters in\n%q", tt.name, body)
		}
	}
}

func TestAccess_Validate(t *testing.T) {
	dir := t.TempDir()
	for name, f := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"short": {"short\n", 0o600}, "shared": {"a token of a reader", 0o640}, "empty": {"", 0o600},
		"second": {"a token of a reader\ntenant acme\n", 0o600}, "scoped": {"tenant acme short\n", 0o600},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(f.text), f.mode); err != nil {
			t.Fatal(err)
		}
		if err := (Access{TokenFile: path}).Validate(); err == nil || strings.Contains(err.Error(), "a token") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := (Access{TokenFile: dir + "/none"}).Validate(); err == nil {
		t.Error("no file: got nil")
	}
}
