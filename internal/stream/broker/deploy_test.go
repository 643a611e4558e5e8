package broker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// deployedConf returns a copy of deploy/nats.conf next to new credentials.
func deployedConf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "nats.conf"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "nats.conf"), data, 0o600)
	}
	if err == nil {
		_, err = WriteCredentials(t.TempDir(), dir, subjects.Space{}, "")
	}
	if err == nil {
		err = os.Rename(filepath.Join(dir, "nats"), filepath.Join(dir, "auth"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "nats.conf")
}

// Without credentials, the deployed server must not start, because it would serve everyone.
//
//guarantee:deploy-auth
func TestDeployedServer_NeedsAccounts(t *testing.T) {
	path := deployedConf(t)
	if err := os.Remove(filepath.Join(filepath.Dir(path), "auth", accountsFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ProcessConfigFile(path); err == nil {
		t.Error("the configuration is valid without accounts")
	}
}

// Only their owner can read the credentials. Each user has a folder, and a second call keeps every
// key.
func TestWriteCredentials(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	if _, _, err := AddTenant(data, "acme"); err != nil {
		t.Fatal(err)
	}
	first := map[string]string{}
	for range 2 {
		written, err := WriteCredentials(data, dir, subjects.Space{}, "")
		if err != nil || len(written) != 8 {
			t.Fatalf("wrote %v, %v", written, err)
		}
		for _, c := range written {
			if filepath.Base(filepath.Dir(c.File)) != c.User {
				t.Errorf("%s of %s is not in its folder", c.File, c.User)
			}
			for path, want := range map[string]os.FileMode{c.File: 0o600, filepath.Dir(c.File): 0o700} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
				}
			}
			text, err := os.ReadFile(c.File)
			if err != nil {
				t.Fatal(err)
			}
			if old, ok := first[c.File]; ok && old != string(text) {
				t.Errorf("%s has changed", c.File)
			}
			first[c.File] = string(text)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "owner"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteCredentials(data, dir, subjects.Space{}, ""); err == nil {
		t.Error("wrote a seed into a folder that every user may write to")
	}
}

// TestDeployedServer compares the server of docker-compose.yml with the embedded one.
func TestDeployedServer(t *testing.T) {
	got, err := server.ProcessConfigFile(deployedConf(t))
	if err != nil {
		t.Fatal(err)
	}
	embedded := serverOptions(t.TempDir(), "", nil)
	type settings struct {
		JetStream, SyncAlways, Store bool
		MaxPayload                   int32
		Inflight, Queued             int
	}
	of := func(o *server.Options) settings {
		return settings{
			o.JetStream, o.SyncAlways, o.JetStreamMaxStore >= DefaultStreamBytes+otherStreams,
			o.MaxPayload, o.JetStreamLimits.MaxBatchInflightPerStream, o.StreamMaxBufferedMsgs,
		}
	}
	embedded.JetStreamMaxStore = DefaultStreamBytes + otherStreams // measured at start
	if diff := cmp.Diff(of(embedded), of(got)); diff != "" {
		t.Errorf("deploy/nats.conf (-embedded +deployed):\n%s", diff)
	}
}
