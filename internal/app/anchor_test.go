package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	auditorcmd "github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

type urls struct {
	slog.Handler

	found chan string
}

func (u urls) Enabled(context.Context, slog.Level) bool { return true }
func (u urls) WithAttrs([]slog.Attr) slog.Handler       { return u }

func (u urls) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "url" && strings.Contains(r.Message, "tile server") {
			u.found <- a.Value.String()
		}
		return true
	})
	return nil
}

// up stores checkpoints in the same places as auditor serve: a file, the bucket of the broker, and
// a tlog-tiles log.
func TestRun_ShowsCheckpoints(t *testing.T) {
	dir, away := t.TempDir(), t.TempDir()
	t.Setenv(cli.EnvName("known-ledgers"), filepath.Join(away, "known"))
	log := urls{slog.DiscardHandler, make(chan string, 8)}
	r := startUp(t, dir, func(o *Options) {
		o.Logger = slog.New(log)
		o.Audit = auditor.Options{CheckpointFile: anchor.File(filepath.Join(away, "{tenant}")), TilesListen: "127.0.0.1:0"}
	})
	r.until(t, "readiness", isReady)
	r.send(t, "e", 10)
	file := filepath.Join(away, "default")
	r.until(t, "a checkpoint in the file", func(int, map[string]ServiceStatus) bool {
		signed, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		c, err := ledger.ReadCheckpoint(signed)
		return err == nil && c.Size >= 10
	})
	var served string
	select {
	case url := <-log.found:
		served = strings.TrimSuffix(url, "TENANT") + "default/checkpoint"
	case <-time.After(30 * time.Second):
		t.Fatal("no log message names the address of the tile server")
	}
	status, body, err := ask(http.Get(served))
	if c, errC := ledger.ReadCheckpoint([]byte(body)); err != nil || errC != nil || status != http.StatusOK || c.Size < 10 {
		t.Errorf("%s: got %d, %v, %v: %s", served, status, err, errC, body)
	}

	var report verifier.Report
	r.until(t, "a checkpoint at each anchor", func(int, map[string]ServiceStatus) bool { // each is at most a second behind
		var out bytes.Buffer
		cmd := auditorcmd.Command()
		cmd.SetOut(&out)
		cmd.SetErr(io.Discard)
		cli.Execute(t.Context(), cmd, []string{"verify", "--data-dir", dir, "--checkpoint-file", file, "--require-trusted", "--json"})
		report = verifier.Report{}
		if err := json.Unmarshal(out.Bytes(), &report); err != nil {
			t.Fatalf("%v in %s", err, out.String())
		}
		return !slices.ContainsFunc(report.Anchored, func(a verifier.Trusted) bool { return a.Unusable })
	})
	if len(report.Anchored) != 2 || report.Integrity != verifier.Verified {
		t.Errorf("compared with %+v", report.Anchored)
	}
	for _, k := range report.Anchored {
		if k.Unusable || k.Diverged {
			t.Errorf("%s: %+v", k.From, k)
		}
	}
}
