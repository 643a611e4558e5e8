package auditor

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

//guarantee:tiles
func TestCommand_ExportTiles(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	to := filepath.Join(t.TempDir(), "log")
	export := []string{"export", "--data-dir", dir, "--tenant", "acme", "--format", "tiles"}
	for _, tt := range []struct {
		name string
		args []string
		want int
	}{
		{"NoFolder", nil, 2},
		{"OneRun", []string{"--out", to, "--run", "r1"}, 2},
		{"Good", []string{"--out", to}, 0},
		{"ThereAlready", []string{"--out", to}, 1},
	} {
		if status, text := command(t, append(export, tt.args...)...); status != tt.want {
			t.Errorf("%s: got status %d, want %d:\n%s", tt.name, status, tt.want, text)
		}
	}
	key, _, err := ledger.ReadVerifier(auditor.KeyDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	c, err := ledger.OpenCheckpoint(auditortest.ReadFile(t, filepath.Join(to, "checkpoint")), note.VerifierList(key))
	if err != nil || c.Tenant != "acme" || c.Size == 0 {
		t.Errorf("got the checkpoint %+v, %v", c, err)
	}
}

// serve --tiles-listen serves the ledgers of its tenants while the auditor runs, and then releases
// its address.
//
//guarantee:tiles
func TestServe_Tiles(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	for _, tenant := range []string{"acme", "beta", "gamma"} {
		auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder-"+tenant, tenant), "r1", 2)
	}
	drain(t, b, dir)
	serve := []string{"serve", "--data-dir", dir, "--nats-url", s.URL(), "--tiles-listen", "127.0.0.1:0"}
	for _, tt := range []struct {
		name         string
		args, served []string
	}{
		{"All", nil, []string{"acme", "beta", "gamma"}},
		{"One", []string{"--tenant", "beta"}, []string{"beta"}},
		{"Several", []string{"--tenant", "acme", "--tenant", "beta"}, []string{"acme", "beta"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, stop := serving(t, append(serve, tt.args...)...)
			var served []string
			for _, tenant := range []string{"acme", "beta", "gamma"} {
				if status := statusOf(t, strings.Replace(url, "TENANT", tenant, 1)+"/checkpoint"); status == http.StatusOK {
					served = append(served, tenant)
				}
			}
			if diff := cmp.Diff(tt.served, served); diff != "" {
				t.Errorf("served (-want +got):\n%s", diff)
			}
			stop()
			if answer, err := http.Get(url); err == nil {
				t.Error("it is still served")
				_ = answer.Body.Close() // it is an error already
			}
		})
	}
}

func serving(tb testing.TB, args ...string) (url string, stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(auditortest.Deadline(tb))
	out, in := io.Pipe()
	cmd := Command()
	cmd.SetOut(io.Discard)
	cmd.SetErr(in)
	status := make(chan int, 1)
	go func() {
		status <- cli.Execute(ctx, cmd, args)
		_ = in.Close() // never fails
	}()
	found := make(chan string, 1)
	last := "" // line of the log, read once found is closed
	go func() {
		defer close(found)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			last = lines.Text()
			var line struct{ URL string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && strings.HasSuffix(line.URL, "/TENANT") {
				found <- line.URL
			}
		}
	}()
	url = <-found
	return url, func() {
		tb.Helper()
		cancel()
		got := <-status
		for range found {
		}
		if got != 0 {
			tb.Errorf("%v: got status %d: %s", args, got, last)
		}
	}
}

func statusOf(tb testing.TB, url string) int {
	tb.Helper()
	answer, err := http.Get(url)
	if err != nil {
		tb.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		tb.Fatal(err)
	}
	return answer.StatusCode
}
