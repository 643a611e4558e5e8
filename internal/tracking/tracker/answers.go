package tracker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

type answer struct {
	ID     string    `json:"id"`
	Tenant string    `json:"tenant"`
	Order  string    `json:"order"`
	Rule   string    `json:"rule"` // one of the events.Rule constants
	Time   time.Time `json:"time"` // of the order
}

// answers returns true if the auditor uses another data directory. The auditor's directory contains
// this key file.
func (o Options) answers() bool {
	_, err := os.Stat(filepath.Join(o.DataDir, "keys", "ledger.key"))
	return err != nil
}

func (b *batch) answer(o ledger.Order, rule string) error {
	if !b.answers || o.Action != events.AuditErase {
		return nil
	}
	a := answer{events.DeriveID(string(events.IssueDecided), o.Tenant, "order", o.ID, rule), o.Tenant, o.ID, rule, o.Time}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return store.Run(b.conn, "INSERT OR IGNORE INTO demand (tenant, id, state, upto, note) VALUES (?, ?, 'answer', 0, ?)", a.Tenant, a.ID, string(text))
}

// answers returns nothing until the whole stream has been read, because the stream may already
// contain the same answers.
func (s *settler) answers(ctx context.Context) (due []answer, err error) {
	if !s.caught.Load() {
		return nil, nil
	}
	err = s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return store.Each(conn, func(stmt *sqlite.Stmt) error {
			var a answer
			if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &a); err != nil {
				return fmt.Errorf("decode answer: %w", err)
			}
			due = append(due, a)
			return nil
		}, "SELECT note FROM demand WHERE state = 'answer' ORDER BY seq LIMIT ?", roundSize)
	})
	return due, err
}

// send publishes the answers to orders to erase data. Call it only when no file contains the erased
// texts any more.
func (s *settler) send(ctx context.Context, due []answer) error {
	if len(due) == 0 {
		return nil
	}
	for _, a := range due {
		e := events.Event{ID: a.ID, Source: "/tracker", Type: events.IssueDecided.Type(), Time: a.Time, Tenant: a.Tenant}
		d := events.IssueDecidedData{Event: a.Order, Action: "none", Rule: a.Rule, Reason: answerReasons[a.Rule]}
		if err := e.SetData(d); err != nil {
			return fmt.Errorf("answer to order %s: %w", a.Order, err)
		}
		if _, err := s.outbox.Append(ctx, e); err != nil && !errors.Is(err, publish.ErrDuplicate) {
			return err
		}
	}
	return s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for _, a := range due {
			if err := markAnswered(conn, a.Tenant, a.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

func markAnswered(conn *sqlite.Conn, tenant, id string) error {
	return store.Run(conn, "UPDATE demand SET state = 'answered', note = '' WHERE tenant = ? AND id = ? AND state = 'answer'", tenant, id)
}

var answerReasons = map[string]string{ //nolint:gochecknoglobals // a constant
	events.RuleErased: "an erasure order; the texts are erased",
	events.RuleHeld:   "an erasure order; a hold protects one of its events, and the texts stay",
	events.RuleWaits:  "an erasure order; the tracker has no key of the ledger that signed it, and the texts stay",
}
