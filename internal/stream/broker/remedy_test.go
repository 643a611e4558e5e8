package broker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// A service with the key of an engine or of another service says which login it has, which one it
// needs, and which command writes that.
//
//guarantee:right-missing
func TestOpen_WrongLogin(t *testing.T) {
	dir := t.TempDir()
	b := open(t, broker.Options{DataDir: dir, Auth: broker.AuthRequired})
	public, seed, err := broker.AddTenant(dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	engine := filepath.Join(t.TempDir(), "acme.nk")
	if err := os.WriteFile(engine, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	unknown := filepath.Join(t.TempDir(), "unknown.nk")
	_, seed, err = broker.AddTenant(t.TempDir(), "acme")
	if err == nil {
		err = os.WriteFile(unknown, seed, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	tracker := filepath.Join(dir, "nats", "keys", "tracker.nk")
	for _, tt := range []struct {
		name string
		key  string
		role subjects.Role
		says []string
	}{
		{"EngineAsPublisher", engine, subjects.PublisherRole, []string{engine, public.Key, "role publisher", "creds/publisher/publisher.nk", "nats/keys/publisher.nk"}},
		{"EngineAsAuditor", engine, subjects.AuditorRole, []string{public.Key, "role auditor", "creds/auditor/auditor.nk"}},
		{"EngineAsOwner", engine, subjects.Owner, []string{public.Key, "role owner", "creds/owner/owner.nk"}},
		{"TrackerAsMetrics", tracker, subjects.MetricsRole, []string{tracker, "role metrics", "creds/metrics/metrics.nk"}},
		{"Unknown", unknown, subjects.PublisherRole, []string{unknown, "does not know", "creds/publisher/publisher.nk"}},
		{"None", "", subjects.PublisherRole, []string{"without --nats-nkey", "creds/publisher/publisher.nk"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := broker.Open(t.Context(), broker.Options{URL: b.URL(), Role: tt.role, Login: broker.Login{NKey: tt.key}})
			if err == nil {
				_ = got.Close(t.Context()) // the test fails anyway
				t.Fatal("it is open")
			}
			for _, text := range append(tt.says, "hooktrail nats creds", "hooktrail tenant add") {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("want %q in %v", text, err)
				}
			}
			if strings.Contains(err.Error(), string(seed)) {
				t.Error("the error has the seed")
			}
		})
	}
}
