package ledgertest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Order signs the order o, and publishes it in an event as the auditor would.
func (f *Feed) Order(tb testing.TB, key *writer.Key, o ledger.Order) ledger.Order {
	tb.Helper()
	if o.ID == "" {
		o.ID = events.NewID()
	}
	o.Tenant, o.Time, o.By, o.Reason = f.Tenant, f.Now, "jdoe", "subject request"
	signed, err := key.Sign(o)
	if err != nil {
		tb.Fatal(err)
	}
	f.Event("auditor/e1", "", events.AuditAccessed, events.AuditAccessedData{
		Action: o.Action, By: o.By, Reason: o.Reason, Order: string(signed),
	})
	return o
}

// Resolved completes the order o with the leaf numbers of the records that it selects in the ledger
// at path.
func Resolved(tb testing.TB, path string, o ledger.Order) ledger.Order {
	tb.Helper()
	r, err := ledger.OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = r.Close() }() // it was read only
	if o, err = r.Orders().Resolve(tb.Context(), o); err != nil {
		tb.Fatal(err)
	}
	return o
}

// EraseRun returns an order to erase the payloads of a run.
func EraseRun(run string) ledger.Order {
	return ledger.Order{Action: events.AuditErase, Selection: ledger.OrderSelection{Run: run}}
}

// Continued appends the new messages of f to a ledger, and removes the remains of destroyed
// payloads with [writer.Ledger.Scrub]. It returns the path of the ledger.
func Continued(tb testing.TB, dir string, key *writer.Key, f *Feed, batch int) string {
	tb.Helper()
	path := Write(tb, dir, key, f, batch)
	l, err := writer.Open(tb.Context(), dir, f.Tenant, writer.Options{Key: key, Now: f.At})
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

// Remains searches all files below dir for the given texts. It returns each match as "FILE: TEXT".
func Remains(tb testing.TB, dir string, texts ...[]byte) (found []string) {
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

// Checked verifies the ledger at path with the default options.
func Checked(tb testing.TB, path string, key *writer.Key) verifier.Report {
	tb.Helper()
	return Verify(tb, path, key, verifier.Options{})
}

// Changes publishes the orders that replaced the signing key, without the first ones. position is
// the number of orders to skip.
func (f *Feed) Changes(key *writer.Key, position int) {
	for _, signed := range key.Changes(f.Tenant, position) {
		f.Signed(signed)
	}
}

// Signed publishes an audit.accessed event that contains a signed order.
func (f *Feed) Signed(signed string) {
	f.Event("auditor/e1", "", events.AuditAccessed, events.AuditAccessedData{
		Action: events.AuditKey, By: "jdoe", Reason: "every year", Order: signed,
	})
}

// Say publishes a tool call that runs text as a command, and its result.
func (f *Feed) Say(run, text string) {
	f.Event("p", run, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Args: fmt.Appendf(nil, `{"command":%q}`, text)})
	f.Event("p", run, events.ToolResult, events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess, Result: []byte(`"ok"`)})
}
