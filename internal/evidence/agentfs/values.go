package agentfs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type sources struct {
	started, finished     []byte
	startedBy, finishedBy origin
}

func (s sources) keepsEnd(e events.Event, data events.RunFinishedData) bool {
	if len(s.finished) == 0 {
		return s.finishedBy.isNewer(originOf(e))
	}
	var end struct {
		Status events.RunStatus `json:"status"`
		At     time.Time        `json:"finished_at"`
	}
	now := data.Status()
	if json.Unmarshal(s.finished, &end) == nil && end.At.Equal(e.Time) && end.Status != now {
		return end.Status.Stronger(now) == end.Status
	}
	return data.IsEndOfLog() || s.finishedBy.isNewer(originOf(e))
}

func (s sources) pausedBefore(t time.Time) bool {
	var end struct {
		At     time.Time `json:"finished_at"`
		Reason string    `json:"reason"` // only of an end by silence
	}
	return len(s.finished) > 0 && json.Unmarshal(s.finished, &end) == nil && end.Reason != "" && t.After(end.At)
}

type origin struct {
	producer string
	sequence uint64
}

func originOf(e events.Event) origin { return origin{e.Producer, e.Sequence} }

func (o origin) isNewer(other origin) bool {
	return o.producer == other.producer && o.sequence > other.sequence
}

// String formats an origin as "SEQUENCE PRODUCER". The sequence comes first because the name of a
// producer may contain spaces.
func (o origin) String() string { return strconv.FormatUint(o.sequence, 10) + " " + o.producer }

func parseOrigin(s string) origin {
	number, producer, _ := strings.Cut(s, " ")
	sequence, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return origin{}
	}
	return origin{producer, sequence}
}

type keyValues struct{ conn *sqlite.Conn }

func (k *keyValues) sources(key string) (sources, error) {
	var s sources
	err := sqlitex.Execute(k.conn, `SELECT started, finished, started_by, finished_by FROM hooktrail_keys WHERE key = ?`, &sqlitex.ExecOptions{
		Args: []any{key},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			s = sources{
				[]byte(stmt.ColumnText(0)), []byte(stmt.ColumnText(1)),
				parseOrigin(stmt.ColumnText(2)), parseOrigin(stmt.ColumnText(3)),
			}
			return nil
		},
	})
	if err != nil {
		return sources{}, fmt.Errorf("read value: %w", err)
	}
	return s, nil
}

func (k *keyValues) saveSources(key string, s sources) error {
	err := execute(k.conn, `INSERT OR REPLACE INTO hooktrail_keys (key, started, finished, started_by, finished_by) VALUES (?, ?, ?, ?, ?)`,
		key, string(s.started), string(s.finished), text(s.startedBy.String()), text(s.finishedBy.String()))
	if err != nil {
		return fmt.Errorf("record value: %w", err)
	}
	return nil
}

func (k *keyValues) set(key string, value []byte, at time.Time) error {
	err := execute(k.conn, `INSERT INTO kv_store (key, value, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
		key, text(string(value)), at.Unix())
	if err != nil {
		return fmt.Errorf("write value: %w", err)
	}
	return nil
}

func (k *keyValues) removeRun(run string) error {
	for _, kind := range []string{"runs:", "steps:"} {
		from, to := prefixed(kind + keyPart(run) + ":")
		for _, query := range []string{
			`DELETE FROM kv_store WHERE key IN (SELECT key FROM hooktrail_keys WHERE key >= ? AND key < ?)`,
			`DELETE FROM hooktrail_keys WHERE key >= ? AND key < ?`,
		} {
			if err := execute(k.conn, query, from, to); err != nil {
				return fmt.Errorf("remove values: %w", err)
			}
		}
	}
	return nil
}

func (k *keyValues) removeAll() error {
	return executeAll(k.conn, []string{
		`DELETE FROM kv_store WHERE key IN (SELECT key FROM hooktrail_keys)`,
		`DELETE FROM hooktrail_keys`,
	})
}
