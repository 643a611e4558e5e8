package beads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Edits implements [EditSource].
func (w *workspace) Edits(ctx context.Context) ([]Edit, error) {
	looked := w.place.look(ctx, w.tenant)
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	var edits []Edit
	err := w.table.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT record FROM bead_edit WHERE tenant = ? ORDER BY seq", &sqlitex.ExecOptions{
			Args: []any{w.tenant},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				var e Edit
				if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &e); err != nil {
					return err
				}
				edits = append(edits, e)
				return nil
			},
		})
	})
	if err != nil {
		err = fmt.Errorf("read edits: %w: %w", ErrTransient, err)
	}
	return edits, errors.Join(looked, err)
}

// Acknowledge implements [EditSource].
func (w *workspace) Acknowledge(ctx context.Context, edits []Edit) error {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	err := w.table.db.Tx(ctx, func(conn *sqlite.Conn) error {
		for _, e := range edits {
			err := sqlitex.Execute(conn, "DELETE FROM bead_edit WHERE tenant = ? AND id = ?", &sqlitex.ExecOptions{Args: []any{w.tenant, e.ID}})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("mark edits: %w: %w", ErrTransient, err)
	}
	return nil
}

func saveEdits(conn *sqlite.Conn, tenant string, edits []Edit) error {
	for _, e := range edits {
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		err = sqlitex.Execute(conn, "INSERT OR IGNORE INTO bead_edit (tenant, id, issue, record) VALUES (?, ?, ?, ?)",
			&sqlitex.ExecOptions{Args: []any{tenant, e.ID, e.Issue, string(data)}})
		if err != nil {
			return fmt.Errorf("store edit %s: %w", e.ID, err)
		}
	}
	return nil
}

// The caller must hold t.mu.
func (t *table) eraseEdits(ctx context.Context, tenant, issue, text string) error {
	err := t.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `UPDATE bead_edit SET record = json_set(record, '$.value', ?3)
			WHERE tenant = ?1 AND issue = ?2 AND json_extract(record, '$.action') = 'retitled'`,
			&sqlitex.ExecOptions{Args: []any{tenant, issue, text}})
	})
	if err != nil {
		return fmt.Errorf("erase edits: %w: %w", ErrTransient, err)
	}
	return nil
}
