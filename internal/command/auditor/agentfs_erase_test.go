package auditor

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/agentfs"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// erase does not report success while another program has an AgentFS file open. The payload is
// erased when the file is released.
//
//guarantee:erase-agentfs
func TestErase_AgentFSFileInUse(t *testing.T) {
	const secret = "a sentence that nobody may read again"
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "engine", "acme")
	publishText(t, p, "run-1", "jane", secret)
	publishText(t, p, "run-2", "jane", "something else")
	drain(t, b, dir)
	files, err := agentfs.List(auditor.AgentFSDir(dir), "acme")
	if err != nil || len(files) != 1 {
		t.Fatalf("files: %v %v, want one", files, err)
	}
	conn, err := sqlite.OpenConn(filepath.Join(auditor.AgentFSDir(dir), files[0].Name), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(conn, "BEGIN EXCLUSIVE", nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(auditortest.Deadline(t))
	ended := make(chan error, 1)
	go func() { ended <- auditor.Run(ctx, auditor.Options{Broker: b, DataDir: dir}) }()
	at := []string{"--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL()}
	erase := append([]string{"erase", "--run", "run-1", "--reason", "subject request"}, at...)
	order(t, 1, nil, append(erase, "--wait", "5s")...)
	if found := filesWith(t, auditor.LedgerDir(dir), secret); len(found) > 0 {
		t.Errorf("the secret is still in %v", found)
	}
	r, err := ledger.OpenTenant(auditor.LedgerDir(dir), "acme")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	soon, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err = (&orderFlags{}).awaitFiles(soon, dir, r, []ledger.Outcome{{Removed: 1}})
	if !errors.Is(err, agentfs.ErrBusy) || !strings.Contains(err.Error(), "another process has: "+files[0].Name) {
		t.Errorf("got %v, want which file is in use", err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	for {
		left, err := agentfs.Unerased(ctx, auditor.AgentFSDir(dir), "acme", auditor.AgentFSSource(r))
		if err != nil && !errors.Is(err, agentfs.ErrBusy) {
			t.Fatal(err)
		}
		if err == nil && len(left) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatal("the file was never cleaned")
		case <-time.After(filesPoll):
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if found := filesWith(t, dir, secret); len(found) > 0 {
		t.Errorf("the secret is still in %v", found)
	}
	if len(filesWith(t, auditor.AgentFSDir(dir), "something else")) == 0 {
		t.Error("another run was erased")
	}
}
