package tiles

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var began = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func deadline(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

type logs struct {
	dir string
	key note.Verifier
}

func write(tb testing.TB, tenants ...string) logs {
	tb.Helper()
	key, err := writer.OpenKey(filepath.Join(tb.TempDir(), "keys"))
	if err != nil {
		tb.Fatal(err)
	}
	verifier, _, err := ledger.ParseVerifier(key.Public())
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	for _, tenant := range tenants {
		l, err := writer.Open(tb.Context(), dir, tenant, writer.Options{Key: key, Now: func() time.Time { return began.Add(time.Hour) }})
		if err != nil {
			tb.Fatal(err)
		}
		stream := ledger.Stream{Epoch: 1, Created: began.Add(-time.Hour)}
		if _, err = l.Append(tb.Context(), stream, messages(tb, tenant, 610)); err != nil {
			tb.Error(err)
		}
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	}
	return logs{dir: dir, key: verifier}
}

func messages(tb testing.TB, tenant string, n int) (all []ledger.Message) {
	tb.Helper()
	for i := range n {
		e, err := events.New(events.ToolBefore, "/test", events.ToolBeforeData{Tool: "Bash", Args: []byte(`{"command":"ls"}`)})
		if err != nil {
			tb.Fatal(err)
		}
		at := began.Add(time.Duration(i) * time.Second)
		e.ID, e.Run, e.Subject, e.Time, e.Salt = events.DeriveID(tenant, fmt.Sprint(i)), "r1", "r1", at, "c2FsdHNhbHRzYWx0c2FsdA"
		e.Tenant, e.Producer, e.Sequence = tenant, "coder", uint64(i+1)
		all = append(all, ledger.Message{
			Sequence: uint64(i + 1), Stored: at, Data: e.Encode(),
			Address: subjects.Address{Tenant: tenant, Producer: "coder", Run: "r1", Kind: events.ToolBefore},
		})
	}
	return all
}

func (l logs) export(tb testing.TB) (to string) {
	tb.Helper()
	to = filepath.Join(tb.TempDir(), "log")
	r, err := ledger.OpenTenant(l.dir, "acme")
	if err != nil {
		tb.Fatal(err)
	}
	done, all := 0, 1
	err = Export(tb.Context(), r, to, func(d, a int) { done, all = d, a })
	if err = errors.Join(err, r.Close()); err != nil {
		tb.Fatal(err)
	}
	if done != all {
		tb.Errorf("progress ended at %d of %d", done, all)
	}
	return to
}

func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func put(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}
