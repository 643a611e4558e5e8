package auditor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func publishText(tb testing.TB, p *publish.Publisher, run, user, text string) events.Event {
	tb.Helper()
	e, err := events.New(events.ToolResult, "/test", events.ToolResultData{
		Tool: "Read", Status: events.ToolSuccess, Result: []byte(`"` + text + `"`),
	})
	if err != nil {
		tb.Fatal(err)
	}
	e.ID = events.NewID()
	e.Run, e.User, e.ToolCall = run, user, e.ID
	if e, err = p.Append(tb.Context(), e); err != nil {
		tb.Fatal(err)
	}
	if err := p.Flush(auditortest.Deadline(tb)); err != nil {
		tb.Fatal(err)
	}
	return e
}

func filesWith(tb testing.TB, dir, text string) (found []string) {
	tb.Helper()
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, strings.TrimPrefix(path, dir))
		}
		return err
	}); err != nil {
		tb.Fatal(err)
	}
	return found
}

func order(tb testing.TB, want int, into any, args ...string) {
	tb.Helper()
	status, out := command(tb, append(args, "--json")...)
	if status != want {
		tb.Fatalf("%v: exit %d, want %d", args, status, want)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		tb.Fatalf("%v: %v in %q", args, err, out)
	}
}

//guarantee:erase
//guarantee:hold
func TestErase_Command(t *testing.T) {
	const secret = "a sentence that nobody may read again"
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "engine", "acme")
	for range 20 {
		publishText(t, p, "run-1", "jane", secret+strings.Repeat(".", 700))
		publishText(t, p, "run-2", "john", "something else")
	}
	drain(t, b, dir)
	if len(filesWith(t, dir, secret)) < 2 {
		t.Fatalf("the secret is in %v, want it in the ledger and in an AgentFS file", filesWith(t, dir, secret))
	}
	at := []string{"--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL()}
	erase := append([]string{"erase", "--run", "run-1", "--reason", "subject request", "--ticket", "DSR-88", "--by", "jdoe"}, at...)

	var planned, done Change
	order(t, 0, &planned, append(erase, "--dry-run")...)
	if planned.Records != 20 || !planned.DryRun || len(filesWith(t, dir, secret)) == 0 {
		t.Errorf("dry run: %+v", planned)
	}
	var hold Hold
	order(t, 0, &hold, append([]string{"hold", "add", "--user", "jane", "--reason", "case 17"}, at...)...)
	order(t, 1, nil, erase...)
	var list []Hold
	order(t, 0, &list, append([]string{"hold", "list"}, at...)...)
	if len(list) != 1 || list[0].ID != hold.ID || list[0].What.User != "jane" {
		t.Errorf("holds: %+v, want %+v", list, hold)
	}
	order(t, 0, nil, append([]string{"hold", "lift", hold.ID, "--reason", "case closed"}, at...)...)
	order(t, 1, nil, append([]string{"hold", "lift", hold.ID, "--reason", "case closed"}, at...)...)
	order(t, 0, &done, erase...)
	if done.Records != 20 || !slices.Equal(done.Effects, []ledger.Effect{ledger.EffectDone}) {
		t.Errorf("erased: %+v", done)
	}
	if found := filesWith(t, dir, secret); len(found) > 0 {
		t.Errorf("the secret is still in %v", found)
	}
	if len(filesWith(t, dir, "something else")) == 0 {
		t.Error("another run was erased")
	}
	var again Change
	order(t, 0, &again, erase...)
	if !again.Repeated || again.Records != 20 || !slices.Equal(again.Orders, done.Orders) {
		t.Errorf("erased again: %+v, want the records of %+v", again, done)
	}
	order(t, 1, nil, append(erase, "--dry-run")...) // nothing is left to erase
	if status, out := command(t, append([]string{"replay", "--run", "run-1"}, at...)...); status != 0 || out != "" {
		t.Errorf("replay of the run: exit %d, %q, want nothing but a warning", status, out)
	}

	_, out := command(t, append([]string{"verify"}, at...)...)
	want := "Redacted:     20 erased (ticket DSR-88, jdoe " + time.Now().UTC().Format(time.DateOnly) + ") · 0 pruned · 0 holds\n"
	if !strings.Contains(out, want) || !strings.Contains(out, "VERIFIED") {
		t.Errorf("verify printed %q, want %q in it", out, want)
	}
}

// Environment variables of other commands' filters do not select what to erase.
func TestErase_TargetOnTheCommandLine(t *testing.T) {
	dir := recorded(t)
	for _, name := range []string{"RUN", "EVENT", "USER", "FROM", "ALL"} {
		t.Setenv("HOOKTRAIL_"+name, "true")
	}
	at := []string{"--data-dir", dir, "--tenant", "acme", "--reason", "r"}
	for _, args := range [][]string{{"erase", "--dry-run"}, {"hold", "add"}} {
		if status, _ := command(t, append(args, at...)...); status != cli.ExitUsage {
			t.Errorf("%v: status %d, want %d", args, status, cli.ExitUsage)
		}
	}
	if status, _ := command(t, append([]string{"erase", "--run", "no such run"}, at...)...); status != 1 {
		t.Errorf("with a target: status %d", status)
	}
	_, help := command(t, "erase", "--help")
	if strings.Contains(help, "[HOOKTRAIL_RUN]") || !strings.Contains(help, "[HOOKTRAIL_REASON]") {
		t.Errorf("help:\n%s", help)
	}
}

func TestErase_LateRecords(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "engine", "acme")
	publishText(t, p, "run-1", "jane", "the first half of the secret")
	drain(t, b, dir)
	between := time.Now()
	publishText(t, p, "run-1", "jane", "the second half of the secret") // still in the stream
	var done Change
	order(t, 0, &done, "erase", "--run", "run-1", "--reason", "subject request",
		"--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL())
	if done.Records != 2 || len(done.Orders) != 2 {
		t.Errorf("erased: %+v, want two records, by two orders", done)
	}
	if age := auditortest.EventStream(t, b).CachedInfo().Config.MaxAge; done.Expires == nil || done.Expires.Before(between.Add(age)) {
		t.Errorf("the stream keeps its copy until %v, want that of the second half, stored after %v", done.Expires, between)
	}
	if found := filesWith(t, dir, "of the secret"); len(found) > 0 {
		t.Errorf("it is still in %v", found)
	}
}

func TestErase_LateOrderFails(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "engine", "acme")
	publishText(t, p, "run-1", "jane", "the first half")
	drain(t, b, dir)
	publishText(t, p, "run-1", "jane", "the second half")
	path, err := ledger.Path(auditor.LedgerDir(dir), "acme")
	if err != nil {
		t.Fatal(err)
	}
	orders := func(conn *sqlite.Conn) (int, error) {
		return sqlitex.ResultInt(conn.Prep("SELECT count(*) FROM orders"))
	}
	reader, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	other, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err == nil {
		err = sqlitex.Execute(reader, "BEGIN", nil)
	}
	if err == nil {
		_, err = orders(reader) // the open read transaction delays erase after the first order
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, gone := auditortest.Deadline(t), make(chan error, 1)
	go func() {
		n, err := orders(other)
		for err == nil && n == 0 {
			select {
			case <-ctx.Done():
				err = ctx.Err()
				continue
			case <-time.After(orderPoll):
			}
			n, err = orders(other)
		}
		gone <- errors.Join(err, os.Remove(filepath.Join(auditor.KeyDir(dir), "ledger.key")), other.Close(), reader.Close())
	}()
	var done Change
	order(t, 1, &done, "erase", "--run", "run-1", "--reason", "subject request",
		"--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL())
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
	if done.Records != 1 || len(done.Orders) != 1 || done.Stream != CopyKept {
		t.Errorf("told: %+v, want what the first order erased", done)
	}
}

//guarantee:erase
func TestErase_WhileServing(t *testing.T) {
	const secret = "a sentence that nobody may read again"
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	e := publishText(t, auditortest.Outbox(t, b, "engine", "acme"), "run-1", "jane", secret)
	drain(t, b, dir)
	ctx, stop := context.WithCancel(auditortest.Deadline(t))
	ended := make(chan error, 1)
	go func() { ended <- auditor.Run(ctx, auditor.Options{Broker: b, DataDir: dir}) }()
	var done Change
	order(t, 0, &done, "erase", "--event", e.ID, "--reason", "a password", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL())
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if found := filesWith(t, auditor.LedgerDir(dir), secret); done.Records != 1 || len(found) > 0 {
		t.Errorf("%+v; the secret is still in %v", done, found)
	}
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
}

//guarantee:retention
func TestPrune(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	p := auditortest.Outbox(t, b, "engine", "acme")
	auditortest.PublishRun(t, p, "run-1", 3)
	publishText(t, p, "run-1", "jane", "said long ago")
	drain(t, b, dir)
	later := func() time.Time { return time.Now().Add(100 * day) }
	keep := []ledger.RetentionRule{{Kind: "tool.result", Age: 30 * day}, {Kind: "tool.*", Age: 365 * day}}
	drainWith(t, auditor.Options{Broker: b, DataDir: dir, Retention: keep, Now: later})
	r := auditortest.Verify(t, dir, "acme")
	if r.Integrity != verifier.Verified || r.Redacted.Pruned != 4 || r.Redacted.Erased != 0 {
		t.Errorf("%s, redacted %+v: %v", r.Integrity, r.Redacted, r.Problems)
	}
	if found := filesWith(t, auditor.LedgerDir(dir), "said long ago"); len(found) > 0 {
		t.Errorf("what was pruned is still in %v", found)
	}
	var none Change
	order(t, 0, &none, "prune", "--keep", "tool.*=90d,*=forever", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL())
	if none.Records != 0 {
		t.Errorf("pruned %d records that are not past their retention", none.Records)
	}
	order(t, 2, nil, "prune", "--keep", "tool.*=soon", "--data-dir", dir)
}

func TestParseRetention(t *testing.T) {
	for text, want := range map[string]ledger.RetentionRule{
		"tool.*=90d":      {Kind: "tool.*", Age: 90 * day},
		"*=7y":            {Kind: "*", Age: 7 * 365 * day},
		"a=26w":           {Kind: "a", Age: 26 * 7 * day},
		"a=12h30m":        {Kind: "a", Age: 12*time.Hour + 30*time.Minute},
		"issue.*=forever": {Kind: "issue.*"},
	} {
		got, err := ParseRetention(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"", "tool.*", "=90d", "[=90d", "a=0d", "a=-1d", "a=soon", "a=99999999999d", "a=2147483647y"} {
		if k, err := ParseRetention(text); err == nil {
			t.Errorf("%q is %v, want an error", text, k)
		}
	}
}

func FuzzParseRetention(f *testing.F) {
	f.Add("tool.*=90d")
	f.Add("*=7y")
	f.Add("a=1h")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseRetention(text)
		if err != nil {
			return
		}
		again, err := ParseRetention(k.String())
		if err != nil || again != k {
			t.Errorf("%q is %v, and that is %v again: %v", text, k, again, err)
		}
	})
}

func TestErase_OtherTenantServed(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	e := publishText(t, auditortest.Outbox(t, b, "engine", "acme"), "run-1", "jane", "what nobody may read again")
	publishText(t, auditortest.Outbox(t, b, "other", "other"), "run-1", "", "something else")
	for _, tenant := range []string{"acme", "other"} {
		drainWith(t, auditor.Options{Broker: b, DataDir: dir, Tenant: tenant})
	}
	ctx, stop := context.WithCancel(auditortest.Deadline(t))
	ended, up := make(chan error, 1), make(chan bool, 1)
	go func() {
		ended <- auditor.Run(ctx, auditor.Options{Broker: b, DataDir: dir, Tenant: "other", Progress: func(consume.Progress) {
			select {
			case up <- true:
			default:
			}
		}})
	}()
	<-up
	for tenant, want := range map[string]bool{"acme": false, "other": true} {
		if served, err := auditor.IsServed(ctx, dir, tenant); err != nil || served != want {
			t.Errorf("tenant %s is served: %v, %v, want %v", tenant, served, err, want)
		}
	}
	var done Change
	order(t, 0, &done, "erase", "--event", e.ID, "--reason", "a password", "--data-dir", dir, "--tenant", "acme", "--nats-url", s.URL())
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if r := auditortest.Verify(t, dir, "acme"); done.Records != 1 || r.Redacted.Erased != 1 || r.Integrity != verifier.Verified {
		t.Errorf("%+v, %s, redacted %+v", done, r.Integrity, r.Redacted)
	}
}
