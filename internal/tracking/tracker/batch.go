package tracker

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type batch struct {
	conn  *sqlite.Conn
	marks *consume.Marks

	state     *store.Fold
	published [][2]string // tenant and id of each issue.decided event

	orderKey  func() (note.Verifier, error)         // returns the key that signs orders, or nil if it is unknown
	keyOrders func(tenant string) ([]string, error) // returns the orders that changed the key, including orders that are not in the stream yet
	erased    bool                                  // an order erased texts
	waiting   []waitingOrder
	answers   bool            // the tracker answers orders
	tenants   map[string]bool // tenants with events in the batch
}

func (b *batch) fold(m consume.Message) error {
	if m.Address.Manifest {
		return nil
	}
	e, err := m.Event()
	if err != nil {
		return err
	}
	b.tenants[e.Tenant] = true
	if b.marks.Repeat(e.Tenant, e.Producer, e.Sequence) && !rules.IsRecognised(e.Kind()) {
		return nil
	}
	if e.Kind() == events.IssueDecided {
		b.published = append(b.published, [2]string{e.Tenant, e.ID})
		return nil
	}
	if e.Kind() == events.AuditAccessed {
		return b.handleOrder(e, m.Stored)
	}
	err = b.state.Take(e, m.Stored)
	if _, ok := errors.AsType[*store.DataError](err); ok {
		// Do not quote the error, because it may contain data of the event. A dead letter must not
		// contain such data.
		return &consume.Poison{Sequence: m.Sequence, Reason: "the data of this " + string(e.Kind()) + " is not of its kind"}
	}
	return err
}

func (b *batch) save() error {
	if err := b.state.Flush(); err != nil {
		return err
	}
	for _, p := range b.published {
		err := store.Run(b.conn, "UPDATE decision SET published = 1 WHERE tenant = ? AND id = ? AND published = 0", p[0], p[1])
		if err == nil {
			err = markAnswered(b.conn, p[0], p[1])
		}
		if err != nil {
			return fmt.Errorf("mark decision: %w", err)
		}
	}
	b.published = nil
	return nil
}
