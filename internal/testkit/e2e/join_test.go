package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A publisher with another data directory joins the server of hooktrail up with a copy of a key.
// Its events reach the ledger.
//
//guarantee:publisher-joins
func TestJoin_OtherDataDirectory(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	p := up(t, dir)
	url, err := os.ReadFile(filepath.Join(dir, "nats", "url"))
	if err != nil {
		t.Fatal(err)
	}
	seed, err := os.ReadFile(filepath.Join(dir, "nats", "keys", "publisher.nk"))
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(other, "publisher.nk")
	if err := os.WriteFile(key, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	joined := []string{"--data-dir", filepath.Join(other, "data"), "--nats-url", strings.TrimSpace(string(url)), "--nats-nkey", key}
	serve := start(t, nil, "publisher", append([]string{"serve", "--listen", "127.0.0.1:0"}, joined...)...)
	post(t, serve)
	if facts := tell[imported](t, 0, "publisher", append([]string{"import", transcriptOf(t, "joined", 20)}, joined...)...); facts.New == 0 || facts.Audited != "all" {
		t.Errorf("import: %+v", facts)
	}
	serve.stopCleanly(t)
	p.stopCleanly(t)
	facts := tell[verdict](t, 0, "auditor", "verify", "--data-dir", dir)
	if facts.Completeness != "COMPLETE" || facts.Events < 2 {
		t.Errorf("verify: %+v", facts)
	}
	if strings.Contains(serve.stderr.String(), "permission") {
		t.Errorf("the publisher lacks a right:\n%s", serve.stderr.String())
	}
}
