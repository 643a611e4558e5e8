package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// Services that start while the cluster has no leader wait for it.
//
//guarantee:leader-lost
func TestStart_ClusterWithoutLeader(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	c, dir := natstest.StartCluster(t), t.TempDir()
	c.Stop(0)
	c.Stop(1)
	at := func(name string) []string {
		return []string{"--nats-url", c.URL(2), "--nats-timeout", "500ms", "--data-dir", filepath.Join(dir, name)}
	}
	services := map[string]*process{}
	for name, args := range map[string][]string{
		"publisher": {"serve", "--listen", "127.0.0.1:0"},
		"metrics":   {"serve", "--listen", "127.0.0.1:0"},
		"auditor":   {"serve"},
		"tracker":   {"serve"},
	} {
		services[name] = start(t, nil, name, append(args, at(name)...)...)
	}
	for name, p := range services {
		waitUntil(t, name+" waits for the cluster", func() bool {
			select {
			case <-p.done:
				t.Fatalf("%s ended:\n%s", name, p.stderr.String())
			default:
			}
			return strings.Contains(p.stderr.String(), "broker needs attention")
		})
	}
	if got := send(t, addressOf(t, services["publisher"]).String(), "application/cloudevents+json", event("default")); got != http.StatusAccepted {
		t.Fatalf("got status %d", got)
	}
	c.Restart(t, 0)
	c.Restart(t, 1)
	waitUntil(t, "the auditor has a ledger", func() bool {
		_, err := os.Stat(filepath.Join(dir, "auditor", "ledger", "default", ledger.FileName))
		return err == nil
	})
	for name, p := range services {
		waitUntil(t, name+" is connected", func() bool { return strings.Contains(p.stderr.String(), "broker condition ended") })
		p.stopCleanly(t)
	}
}
