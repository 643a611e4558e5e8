package auditor

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

// checkIndependently checks a tlog-proof by its specification with x/mod and no code of this
// repository. It returns the record.
func checkIndependently(text, key string) (string, error) {
	head, signed, ok := strings.Cut(text, "\n\n")
	rows := strings.Split(head, "\n")
	if !ok || len(rows) < 3 || rows[0] != "c2sp.org/tlog-proof@v1" {
		return "", fmt.Errorf("no proof: %q", text)
	}
	extra, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(rows[1], "extra "))
	if err != nil {
		return "", err
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(rows[2], "index "), 10, 64)
	if err != nil {
		return "", err
	}
	var path tlog.RecordProof
	for _, row := range rows[3:] {
		h, err := tlog.ParseHash(row)
		if err != nil {
			return "", err
		}
		path = append(path, h)
	}
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return "", err
	}
	n, err := note.Open([]byte(signed), note.VerifierList(verifier))
	if err != nil {
		return "", err
	}
	checkpoint := strings.Split(n.Text, "\n")
	size, err := strconv.ParseInt(checkpoint[1], 10, 64)
	if err != nil {
		return "", err
	}
	root, err := tlog.ParseHash(checkpoint[2])
	if err != nil {
		return "", err
	}
	return string(extra), tlog.CheckRecord(path, size, root, index, tlog.RecordHash(extra))
}

//guarantee:proof
func TestCommand_Proof(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 20)
	drain(t, b, dir)
	at := []string{"--data-dir", dir, "--tenant", "acme"}
	_, run := command(t, append([]string{"replay", "--run", "r1"}, at...)...)
	key := strings.TrimSpace(string(auditortest.ReadFile(t, filepath.Join(auditor.KeyDir(dir), "ledger.pub"))))
	away := t.TempDir()
	for line := range strings.Lines(run) {
		var event struct{ ID string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		status, text := command(t, append([]string{"proof", event.ID}, at...)...)
		if status != 0 {
			t.Fatalf("event %s: got status %d", event.ID, status)
		}
		record, err := checkIndependently(text, key)
		if err != nil || !strings.Contains(record, "\nid "+event.ID+"\n") {
			t.Fatalf("event %s: %v, proved is %q", event.ID, err, record)
		}
		proof, file := filepath.Join(away, "proof"), filepath.Join(away, "event")
		auditortest.Put(t, proof, text)
		auditortest.Put(t, file, line)
		if status, text := command(t, "verify", "--proof", proof, "--event", file, "--key", key); status != 0 {
			t.Fatalf("event %s: got status %d:\n%s", event.ID, status, text)
		}
	}
	if status, _ := command(t, append([]string{"proof", "none"}, at...)...); status != 1 {
		t.Errorf("an event that is not there: got status %d, want 1", status)
	}
}

// A proof needs neither a ledger nor a data directory.
//
//guarantee:bundle-proof
func TestCommand_ProofFromBundle(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 3)
	auditortest.PublishRun(t, p, "r2", 3)
	drain(t, b, dir)
	at := []string{"--data-dir", dir, "--tenant", "acme"}
	_, run := command(t, append([]string{"replay", "--run", "r1"}, at...)...)
	line, _, _ := strings.Cut(run, "\n")
	var event struct{ ID string }
	if err := json.Unmarshal([]byte(line), &event); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(t.TempDir(), "r1.zip")
	if status, text := command(t, append([]string{"export", "--run", "r1", "--out", bundle}, at...)...); status != 0 {
		t.Fatalf("export: status %d, %q", status, text)
	}
	key := strings.TrimSpace(string(auditortest.ReadFile(t, filepath.Join(auditor.KeyDir(dir), "ledger.pub"))))
	away := []string{"--data-dir", t.TempDir(), "--bundle", bundle}
	status, text := command(t, append([]string{"proof", event.ID}, away...)...)
	if status != 0 {
		t.Fatalf("got status %d", status)
	}
	record, err := checkIndependently(text, key)
	if err != nil || !strings.Contains(record, "\nid "+event.ID+"\n") {
		t.Errorf("%v, proved is %q", err, record)
	}
	for _, tt := range []struct {
		name, id string
		args     []string
		want     int
	}{
		{"Tenant", event.ID, []string{"--tenant", "acme"}, 0},
		{"OtherTenant", event.ID, []string{"--tenant", "other"}, 1},
		{"NoEvent", "none", nil, 1},
		{"NoBundle", event.ID, []string{"--bundle", key}, 1},
		{"LedgerToo", event.ID, []string{"--ledger", key}, 2},
		{"Reason", event.ID, []string{"--reason", "audit"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if status, _ := command(t, append(append([]string{"proof", tt.id}, away...), tt.args...)...); status != tt.want {
				t.Errorf("got status %d, want %d", status, tt.want)
			}
		})
	}
}

//guarantee:proof
func TestCommand_ProofIsRefused(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	at := []string{"--data-dir", dir, "--tenant", "acme"}
	_, run := command(t, append([]string{"replay", "--run", "r1"}, at...)...)
	first, rest, _ := strings.Cut(run, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	var event struct{ ID string }
	if err := json.Unmarshal([]byte(first), &event); err != nil {
		t.Fatal(err)
	}
	_, text := command(t, append([]string{"proof", event.ID}, at...)...)
	rows := strings.Split(text, "\n")
	record, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rows[1], "extra "))
	forged := base64.StdEncoding.EncodeToString([]byte(strings.Replace(string(record), "run r1", "run r2", 1)))
	stranger, err := writer.OpenKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	key := string(auditortest.ReadFile(t, filepath.Join(auditor.KeyDir(dir), "ledger.pub")))
	for _, tt := range []struct {
		name, proof, event, key, tenant string
		want                            int
	}{
		{"Good", text, first, key, "acme", 0},
		{"AnotherEvent", text, second, key, "", verifier.ExitInvalid},
		{"AnotherKey", text, first, stranger.Public(), "", verifier.ExitInvalid},
		{"AnotherTenant", text, first, key, "other", verifier.ExitInvalid},
		{"AnotherRecord", strings.Replace(text, strings.TrimPrefix(rows[1], "extra "), forged, 1), first, key, "", verifier.ExitInvalid},
		{"NoRecord", strings.Replace(text, rows[1]+"\n", "", 1), first, key, "", verifier.ExitInvalid},
		{"AnotherHash", strings.Replace(text, rows[3], tlog.Hash{}.String(), 1), first, key, "", verifier.ExitInvalid},
		{"AnotherIndex", strings.Replace(text, rows[2], "index 1", 1), first, key, "", verifier.ExitInvalid},
		{"SmallerCheckpoint", strings.Replace(text, "\nhooktrail/acme\n", "\nhooktrail/acme\n1", 1), first, key, "", verifier.ExitInvalid},
		{"NoProof", "nonsense", first, key, "", verifier.ExitInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proof, file := filepath.Join(t.TempDir(), "proof"), filepath.Join(t.TempDir(), "event")
			auditortest.Put(t, proof, tt.proof)
			auditortest.Put(t, file, tt.event)
			args := []string{"verify", "--proof", proof, "--event", file, "--key", tt.key}
			if tt.tenant != "" {
				args = append(args, "--tenant", tt.tenant)
			}
			if status, text := command(t, args...); status != tt.want {
				t.Errorf("got status %d, want %d:\n%s", status, tt.want, text)
			}
		})
	}
}
