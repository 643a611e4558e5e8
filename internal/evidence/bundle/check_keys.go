package bundle

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (c *checker) open(key note.Verifier, signed []byte) error {
	said, err := ledger.ReadCheckpoint(signed)
	if err != nil {
		return err
	}
	orders, issuers, err := c.keyOrders()
	if err != nil {
		return err
	}
	orders = c.report.withPending(orders, said)
	c.keys, c.report.Anchor = c.opts.Anchor.Vouch(key, said.Tenant, orders, func(k ledger.Keys) bool {
		_, err := ledger.OpenCheckpoint(signed, k.At(said.Size+1))
		return err == nil
	})
	pinned := c.report.Anchor != nil && c.report.Anchor.State == verifier.AnchorPinned
	c.report.OwnKey = c.opts.Key == nil && !pinned
	c.issuers = ledger.SignedIssuers(c.keys, said.Tenant, issuers)
	c.newest, err = ledger.OpenCheckpoint(signed, c.keys.At(said.Size+1))
	return err
}

func (c *checker) trustedByOther() string {
	_, err := ledger.OpenCheckpoint(c.trustedNote, c.keys.At(c.trusted.Size))
	if err == nil {
		return ""
	}
	return cmp.Or(verifier.OtherKey(err, c.keys, c.trusted.Size), err.Error())
}

func mayBeOrder(line []byte) bool {
	return slices.ContainsFunc([]string{string(events.AuditAccessed), `\u`, "leaf_base64"}, func(text string) bool {
		return bytes.Contains(line, []byte(text))
	})
}

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
		leaf, signed, action, err := recordedOrder(index, line)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case action == events.AuditKey:
			keys = append(keys, ledger.KeyOrder{Leaf: leaf, Signed: signed})
		case ledger.IsIssuerOrder(action):
			issuers = append(issuers, ledger.KeyOrder{Leaf: leaf, Signed: signed})
		}
	}
	return keys, issuers, nil
}

func recordedOrder(index, line []byte) (leaf int64, signed string, action events.AuditAction, err error) {
	if !mayBeOrder(index) {
		return 0, "", "", nil
	}
	l, err := parseLeafLine(index)
	if err != nil {
		return 0, "", "", fmt.Errorf("%s: %w", leavesFile, err)
	}
	record, err := parseRecord(line)
	if err != nil {
		return 0, "", "", fmt.Errorf("%s: %w", recordsFile, err)
	}
	if text, err := ledger.ParseLeaf(l.bytes()); err == nil && text.Class == ledger.ClassEvent {
		signed, action = ledger.OrderOf(record)
	}
	return l.Index, signed, action, nil
}
