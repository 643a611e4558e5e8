package beads

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
)

// A change just after the rename, before the export is recorded, is an edit.
func TestStore_EditsBesideAnExportAreSeen(t *testing.T) {
	dir := t.TempDir()
	db, err := projection.Open(t.Context(), filepath.Join(dir, "tracker.db"),
		projection.Schema{Name: "beads", Version: 1, Tables: Schema}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := NewStore(db, filepath.Join(dir, "beads"))
	path, err := File(filepath.Join(dir, "beads"), "acme")
	if err != nil {
		t.Fatal(err)
	}
	edited := false
	edit := func(sqlite.Context, []sqlite.Value) (sqlite.Value, error) {
		content, err := os.ReadFile(path)
		if err == nil && !edited {
			edited = true
			err = os.WriteFile(path, bytes.Replace(content, []byte(`"title":"a`), []byte(`"title":"not a`), 1), 0o600)
		}
		return sqlite.Value{}, err
	}
	err = db.Tx(t.Context(), func(conn *sqlite.Conn) error {
		err := conn.CreateFunction("edit", &sqlite.FunctionImpl{NArgs: 0, Scalar: edit, AllowIndirect: true})
		return errors.Join(err, sqlitex.Execute(conn, `CREATE TEMP TRIGGER beside AFTER UPDATE OF written ON bead
			WHEN NEW.written <> OLD.written BEGIN SELECT edit(); END`, nil))
	})
	if err != nil {
		t.Fatal(err)
	}
	w := s.Workspace("acme")
	err = w.Ensure(t.Context(), Issue{
		ID: "ht-1", Title: "a title", Status: Open, Priority: 1, Type: TypeTask, CreatedAt: time.Unix(1, 0).UTC(), UpdatedAt: time.Unix(1, 0).UTC(),
	})
	if err := errors.Join(err, s.Flush(t.Context()), s.Export(t.Context())); err != nil {
		t.Fatal(err)
	}
	edits, err := w.Edits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(edits) != 1 || edits[0].Action != ActionRetitled || edits[0].Value != "not a title" {
		t.Errorf("got edits %v, want the new title (edited: %v)", edits, edited)
	}
}
