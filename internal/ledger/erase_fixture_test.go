package ledger

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// order publishes an order, signed by key, as the auditor's outbox would.
func (f *feed) order(tb testing.TB, key *Key, o Order) Order {
	tb.Helper()
	if o.ID == "" {
		o.ID = events.NewID()
	}
	o.Tenant, o.Time, o.By, o.Reason = f.tenant, f.now, "jdoe", "subject request"
	signed, err := key.Sign(o)
	if err != nil {
		tb.Fatal(err)
	}
	f.event("auditor/e1", "", events.AuditAccessed, events.AuditAccessedData{
		Action: o.Action, By: o.By, Reason: o.Reason, Order: string(signed),
	})
	return o
}

// resolved returns o with the leaves that it comes to in the ledger at path.
func resolved(tb testing.TB, path string, o Order) Order {
	tb.Helper()
	r, err := OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	if o, err = r.Resolve(tb.Context(), o); err != nil {
		tb.Fatal(err)
	}
	return o
}

// eraseRun is the order to erase a run.
func eraseRun(run string) Order {
	return Order{Action: events.AuditErase, Selection: OrderSelection{Run: run}}
}

// continued appends what f has to the ledger below dir, which has some of it, in
// batches, and scrubs it.
func continued(tb testing.TB, dir string, key *Key, f *feed, batch int) string {
	tb.Helper()
	path := write(tb, dir, key, f, batch)
	l, err := Open(tb.Context(), dir, f.tenant, Options{Key: key, Now: f.at})
	if err != nil {
		tb.Fatal(err)
	}
	if err := l.Scrub(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// remains returns the files below dir that have one of the texts in them.
func remains(tb testing.TB, dir string, texts ...[]byte) (found []string) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, text := range texts {
			if bytes.Contains(data, text) {
				found = append(found, filepath.Base(path)+": "+string(text))
			}
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// checked verifies the ledger at path.
func checked(tb testing.TB, path string, key *Key) Report {
	tb.Helper()
	report, err := Verify(tb.Context(), path, VerifyOptions{Key: verifierOf(key)})
	if err != nil {
		tb.Fatal(err)
	}
	return report
}

// changes publishes the orders that put key in charge, from a position on.
func (f *feed) changes(key *Key, position int) {
	for _, signed := range key.Changes(f.tenant, position) {
		f.signed(signed)
	}
}

// signed publishes a signed order.
func (f *feed) signed(signed string) {
	f.event("auditor/e1", "", events.AuditAccessed, events.AuditAccessedData{
		Action: events.AuditKey, By: "jdoe", Reason: "every year", Order: signed,
	})
}

// say publishes a call of a tool, whose command is text, and its result.
func (f *feed) say(run, text string) {
	f.event("p", run, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Args: fmt.Appendf(nil, `{"command":%q}`, text)})
	f.event("p", run, events.ToolResult, events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess, Result: []byte(`"ok"`)})
}
