package e2e

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const namespaceEnv = "HOOKTRAIL_E2E_NAMESPACE"

// The disk of the broker is full in the middle of a batch. Every event arrives once after space is
// freed.
//
//guarantee:broker-full
func TestFullDisk(t *testing.T) {
	if os.Getenv(namespaceEnv) == "" {
		inNamespace(t)
		return
	}
	const count, full, roomy = 16_000, "size=10m", "size=512m"
	dir := t.TempDir()
	disk := filepath.Join(dir, "nats", "jetstream")
	if err := os.MkdirAll(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, full); err != nil {
		t.Fatalf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})

	server := start(t, nil, "server", "--data-dir", dir)
	pipe := start(t, customEvents(count), "publisher", "pipe", "--data-dir", dir)
	waitUntil(t, "the disk is full", func() bool {
		var s unix.Statfs_t
		if err := unix.Statfs(disk, &s); err != nil {
			t.Fatal(err)
		}
		return s.Bavail < 16
	})
	server.kill()
	if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, roomy); err != nil {
		t.Fatalf("make room: %v", err)
	}
	start(t, nil, "server", "--data-dir", dir)
	if got := pipe.status(t); got != 0 {
		t.Fatalf("publisher pipe: got exit status %d, want 0; stderr:\n%s", got, pipe.stderr.String())
	}
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir)
	run(t, 0, "auditor", "verify", "--data-dir", dir)
	if got := len(held(t, dir)); got != count {
		t.Errorf("events in the ledger: got %d, want %d", got, count)
	}
}

// inNamespace runs the test again in a process that may mount file systems.
func inNamespace(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), namespaceEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skipf("this machine gives out no mount namespaces: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// customEvents returns CloudEvents as JSON lines, each with 1 KB of incompressible data.
func customEvents(count int) []byte {
	random := rand.NewChaCha8([32]byte{1})
	noise := make([]byte, 500)
	var b bytes.Buffer
	for i := range count {
		_, _ = random.Read(noise) // never fails
		fmt.Fprintf(&b, `{"specversion":"1.0","id":"e-%06d","source":"/e2e","type":"hooktrail.custom",`+
			`"time":"2026-01-02T03:04:05Z","runid":"r","data":{"name":"noise","data":%q}}`+"\n", i, hex.EncodeToString(noise))
	}
	return b.Bytes()
}

// held returns the ids of the custom events in the ledger, which must have the order of
// customEvents.
func held(t *testing.T, dir string) []string {
	t.Helper()
	var ids []string
	for e, err := range read(t, dir, "default").Run(t.Context(), "r") {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(e.ID, "e-") {
			continue // a record of the outbox itself
		}
		if want := fmt.Sprintf("e-%06d", len(ids)); e.ID != want {
			t.Fatalf("event %d in the ledger: got %s, want %s", len(ids), e.ID, want)
		}
		ids = append(ids, e.ID)
	}
	return ids
}

func waitUntil(t testing.TB, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %v in vain until %s", limit, what)
		}
	}
}
