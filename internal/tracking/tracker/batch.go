package tracker

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// batch folds messages within one transaction, and obeys the orders among them.
type batch struct {
	conn  *sqlite.Conn
	marks *consume.Marks

	state     *store.Fold
	published [][2]string // tenants and ids of issue.decided events that came by

	orderKey  func() (note.Verifier, error)         // what orders about evidence are signed with; nil: none is known
	keyOrders func(tenant string) ([]string, error) // that changed it, and may not have come yet
	erased    bool                                  // texts were
	unchecked bool                                  // an order came that no key is there for
	tenants   map[string]bool                       // whose events came
}

// fold takes in one message. A message that can never be folded is a
// [*consume.Poison].
func (b *batch) fold(m consume.Message) error {
	if m.Address.Manifest {
		return nil
	}
	e, err := m.Event()
	if err != nil {
		return err
	}
	b.tenants[e.Tenant] = true
	if b.marks.Repeat(e.Tenant, e.Producer, e.Sequence) {
		return nil
	}
	if e.Kind() == events.IssueDecided {
		b.published = append(b.published, [2]string{e.Tenant, e.ID})
		return nil
	}
	if e.Kind() == events.AuditAccessed {
		return b.obey(e)
	}
	return b.decide(e, m)
}

// decide folds an event, and writes what is decided on it and on what was held.
func (b *batch) decide(e events.Event, m consume.Message) error {
	err := b.state.Take(e, m.Stored)
	if _, ok := errors.AsType[*store.DataError](err); ok {
		// What is wrong with it may quote the event; the letter must not.
		return &consume.Poison{Sequence: m.Sequence, Reason: "the data of this " + string(e.Kind()) + " is not of its kind"}
	}
	return err
}

// save writes the state, and marks what was published. What was decided is where
// it is looked for then.
func (b *batch) save() error {
	if err := b.state.Flush(); err != nil {
		return err
	}
	for _, p := range b.published {
		err := store.Run(b.conn, "UPDATE decision SET published = 1 WHERE tenant = ? AND id = ? AND published = 0", p[0], p[1])
		if err != nil {
			return fmt.Errorf("mark decision: %w", err)
		}
	}
	b.published = nil
	return nil
}
