package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// open opens the checkpoint. Its signer must be key or a key that follows from it
// through key changes. Every bundle has the orders of key changes.
func (c *checker) open(key note.Verifier, signed []byte) error {
	said, err := ledger.ReadCheckpoint(signed)
	if err != nil {
		return err
	}
	orders, err := c.keyOrders()
	if err != nil {
		return err
	}
	c.keys = ledger.LinkKeys(key, said.Tenant, orders)
	c.newest, err = ledger.OpenCheckpoint(signed, c.keys.At(said.Size))
	return err
}

// keyWords appear in every order that changes the key.
var keyWords = []byte(`\naction ` + string(events.AuditKey) + `\n`) //nolint:gochecknoglobals // a constant

// keyOrders returns the orders that change the key. The walk verifies their records and
// leaves later.
func (c *checker) keyOrders() (found []ledger.KeyOrder, err error) {
	leaves, err := c.files[leavesFile].Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = leaves.Close() }() // read only
	records, err := c.files[recordsFile].Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = records.Close() }() // read only
	indexes, lines := newLineReader(leaves), newLineReader(records)
	for {
		index, line, ok, err := nextOfBoth(indexes, lines)
		if err != nil || !ok {
			return found, err
		}
		if !bytes.Contains(line, keyWords) {
			continue
		}
		record, err := parseRecord(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", recordsFile, err)
		}
		signed, ok := ledger.KeyOrderOf(record)
		if !ok {
			continue
		}
		var l leafLine
		if err := json.Unmarshal(index, &l); err != nil {
			return nil, fmt.Errorf("%s: %w", leavesFile, err)
		}
		found = append(found, ledger.KeyOrder{Leaf: l.Index, Signed: signed})
	}
}

// nextOfBoth returns the next leaf and its record. ok is false at the end of either
// file.
func nextOfBoth(leaves, records *lineReader) (leaf, record []byte, ok bool, err error) {
	if leaf, ok, err = leaves.next(); err != nil {
		return nil, nil, false, fmt.Errorf("%s: %w", leavesFile, err)
	}
	if !ok {
		return nil, nil, false, nil
	}
	if record, ok, err = records.next(); err != nil {
		return nil, nil, false, fmt.Errorf("%s: %w", recordsFile, err)
	}
	return leaf, record, ok, nil
}
