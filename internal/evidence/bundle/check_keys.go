package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// open verifies the signature of the checkpoint. The signer must be the given key, or a later key
// in the bundle's signed key changes.
func (c *checker) open(key note.Verifier, signed []byte) error {
	said, err := ledger.ReadCheckpoint(signed)
	if err != nil {
		return err
	}
	orders, issuers, err := c.keyOrders()
	if err != nil {
		return err
	}
	c.keys, c.report.Anchor = c.opts.Anchor.Vouch(key, said.Tenant, orders, func(k ledger.Keys) bool {
		_, err := ledger.OpenCheckpoint(signed, k.At(said.Size))
		return err == nil
	})
	pinned := c.report.Anchor != nil && c.report.Anchor.State == verifier.AnchorPinned
	c.report.OwnKey = c.opts.Key == nil && !pinned
	c.issuers = ledger.SignedIssuers(c.keys, said.Tenant, issuers)
	c.newest, err = ledger.OpenCheckpoint(signed, c.keys.At(said.Size))
	return err
}

func (c *checker) trustedByOther() string {
	_, err := ledger.OpenCheckpoint(c.trustedNote, c.keys.At(c.trusted.Size))
	if err == nil {
		return ""
	}
	return cmp.Or(verifier.OtherKey(err, c.keys, c.trusted.Size), err.Error())
}

// orderWords are found in every order about keys or issuers. Records without them are not parsed.
var orderWords = [...][]byte{ //nolint:gochecknoglobals // a constant
	[]byte(`\naction ` + string(events.AuditKey) + `\n`),
	[]byte(`\naction ` + string(events.AuditIssuer) + `\n`),
	[]byte(`\naction ` + string(events.AuditRevoke) + `\n`),
}

func hasOrderWords(line []byte) bool {
	return slices.ContainsFunc(orderWords[:], func(words []byte) bool { return bytes.Contains(line, words) })
}

// keyOrders returns the orders about the key and the orders about issuers. The records are verified
// later.
func (c *checker) keyOrders() (keys, issuers []ledger.KeyOrder, err error) {
	records, err := c.files[recordsFile].Open()
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = records.Close() }()
	lines := newLineReader(records)
	for index, err := range linesOf(c, leavesFile, func(line []byte) ([]byte, error) { return line, nil }) {
		if err != nil {
			return nil, nil, err
		}
		line, ok, err := lines.next()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", recordsFile, err)
		}
		if !ok {
			break
		}
		if !hasOrderWords(line) {
			continue
		}
		record, err := parseRecord(line)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", recordsFile, err)
		}
		var l leafLine
		if err := json.Unmarshal(index, &l); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", leavesFile, err)
		}
		signed, action := ledger.OrderOf(record)
		switch {
		case action == events.AuditKey:
			keys = append(keys, ledger.KeyOrder{Leaf: l.Index, Signed: signed})
		case ledger.IsIssuerOrder(action):
			issuers = append(issuers, ledger.KeyOrder{Leaf: l.Index, Signed: signed})
		}
	}
	return keys, issuers, nil
}
