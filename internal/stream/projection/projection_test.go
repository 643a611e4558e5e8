package projection_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var schema = projection.Schema{
	Name: "numbers", Version: 1,
	Tables: "CREATE TABLE seen (n INTEGER PRIMARY KEY) STRICT; -- a comment\n",
}

var quiet = slog.New(slog.DiscardHandler)

func open(t *testing.T, path string) *projection.DB {
	t.Helper()
	db, err := projection.Open(t.Context(), path, schema, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

func add(n int) func(*sqlite.Conn) error {
	return func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "INSERT INTO seen VALUES (?)", &sqlitex.ExecOptions{Args: []any{n}})
	}
}

func count(t *testing.T, path string) (n int64) {
	t.Helper()
	err := projection.Read(t.Context(), path, schema, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT count(*) FROM seen", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil },
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDB_CommitSurvivesReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics", "m.db")
	next := projection.Position{Sequence: 7, Stream: time.Unix(1, 5).UTC(), Hash: events.HashOf([]byte("x"))}
	var marks projection.Marks
	db := open(t, path)
	err := db.Commit(t.Context(), next, &marks, func(conn *sqlite.Conn) error {
		if marks.Repeat("acme", "p", 3) {
			t.Error("first sighting is a repeat")
		}
		return add(1)(conn)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	db = open(t, path)
	got, err := db.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(next, got); diff != "" {
		t.Errorf("position (-want +got):\n%s", diff)
	}
	loaded, err := db.LoadMarks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !loaded.Repeat("acme", "p", 3) || loaded.Repeat("acme", "p", 4) || loaded.Repeat("acme", "q", 1) {
		t.Error("marks differ after reopening")
	}
	if n := count(t, path); n != 1 {
		t.Errorf("got %d rows, want 1", n)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, want 0600", info.Mode().Perm())
	}
}

func TestDB_FailedCommitDidNotHappen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	db := open(t, path)
	var marks projection.Marks
	broken := errors.New("broken")
	err := db.Commit(t.Context(), projection.Position{Sequence: 1}, &marks, func(conn *sqlite.Conn) error {
		marks.Repeat("acme", "p", 1)
		return errors.Join(add(1)(conn), broken)
	})
	if !errors.Is(err, broken) {
		t.Fatalf("got %v, want %v", err, broken)
	}
	p, err := db.Position(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p != (projection.Position{}) || count(t, path) != 0 {
		t.Errorf("something was stored: position %+v, %d rows", p, count(t, path))
	}
	if marks.Repeat("acme", "p", 1) {
		t.Error("what was not stored is a repeat")
	}
}

func TestDB_TransactionEndedByTheDatabaseIsAnError(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "p.db"))
	err := db.Tx(t.Context(), func(conn *sqlite.Conn) error { return sqlitex.Execute(conn, "ROLLBACK", nil) })
	if err == nil {
		t.Error("got nil, want an error")
	}
	if err := db.Tx(t.Context(), add(1)); err != nil {
		t.Errorf("next transaction: %v", err)
	}
}

func TestDB_CancelledTransactionIsUndone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	db := open(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Tx(ctx, func(conn *sqlite.Conn) error {
		if err := add(1)(conn); err != nil {
			return err
		}
		cancel()
		return sqlitex.Execute(conn, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT max(x) FROM c", nil)
	})
	if err == nil || count(t, path) != 0 {
		t.Errorf("got error %v and %d rows, want an error and none", err, count(t, path))
	}
	if err := db.Tx(t.Context(), add(2)); err != nil {
		t.Errorf("next transaction: %v", err)
	}
}

type lines chan<- string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// The WAL contains deleted data until it is truncated.
func TestDB_Scrub(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.db")
	texts := projection.Schema{Name: "texts", Version: 1, Tables: "CREATE TABLE texts (t TEXT NOT NULL) STRICT;\n"}
	db, err := projection.Open(t.Context(), path, texts, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"INSERT INTO texts VALUES ('secret!!')", "DELETE FROM texts"} {
		err := db.Tx(t.Context(), func(conn *sqlite.Conn) error { return sqlitex.Execute(conn, query, nil) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if found := remains(t, path, "secret!!"); len(found) == 0 {
		t.Error("it is nowhere before that: there is nothing to see to")
	}
	if err := db.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := remains(t, path, "secret!!"); len(found) > 0 {
		t.Errorf("it is still in %v", found)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Scrub(t.Context()); !errors.Is(err, projection.ErrClosed) {
		t.Errorf("got %v after Close, want %v", err, projection.ErrClosed)
	}
}

func remains(t *testing.T, path, text string) (found []string) {
	t.Helper()
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			found = append(found, name)
		}
	}
	return found
}

func TestOpen_SecondProcessWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	db := open(t, path)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := projection.Open(short, path, schema, quiet); !errors.Is(err, filelock.ErrHeld) {
		t.Fatalf("got %v, want %v", err, filelock.ErrHeld)
	}
	opened, logged := make(chan error, 1), make(chan string, 1)
	logger := slog.New(slog.NewTextHandler(lines(logged), nil))
	go func() {
		second, err := projection.Open(t.Context(), path, schema, logger)
		if err == nil {
			err = second.Close()
		}
		opened <- err
	}()
	if line := <-logged; !strings.Contains(line, "waiting") || !strings.Contains(line, path) {
		t.Errorf("logged %s", line)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Errorf("second: %v", err)
	}
	if err := db.Tx(t.Context(), add(1)); !errors.Is(err, projection.ErrClosed) {
		t.Errorf("got %v after Close, want %v", err, projection.ErrClosed)
	}
}

func TestOpen_OtherSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	newer, other := schema, schema
	newer.Version++
	other.Name = "letters"
	for _, s := range []projection.Schema{newer, other} {
		if _, err := projection.Open(t.Context(), path, s, quiet); !errors.Is(err, projection.ErrSchema) {
			t.Errorf("%s %d: got %v, want %v", s.Name, s.Version, err, projection.ErrSchema)
		}
		err := projection.Read(t.Context(), path, s, func(*sqlite.Conn) error { return nil })
		if !errors.Is(err, projection.ErrSchema) {
			t.Errorf("read %s %d: got %v, want %v", s.Name, s.Version, err, projection.ErrSchema)
		}
	}
}

func TestOpen_RefusesFilesOfOtherPrograms(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	conn, err := sqlite.OpenConn(foreign, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteTransient(conn, "CREATE TABLE mine (a)", nil)
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	garbage := filepath.Join(t.TempDir(), "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{foreign, garbage} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = projection.Open(t.Context(), path, schema, quiet)
		if !errors.Is(err, projection.ErrSchema) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "delete the file") {
			t.Errorf("open: got %v, want %v with path and remedy", err, projection.ErrSchema)
		}
		err = projection.Read(t.Context(), path, schema, func(*sqlite.Conn) error { return nil })
		if !errors.Is(err, projection.ErrSchema) || !strings.Contains(err.Error(), path) {
			t.Errorf("read: got %v, want %v with path", err, projection.ErrSchema)
		}
		after, err := os.ReadFile(path)
		if err != nil || path == garbage && !bytes.Equal(before, after) {
			t.Errorf("%s was changed, error %v", path, err)
		}
	}
}

// A backup in a read-only folder can be read, although SQLite cannot create the file for its shared
// memory there.
func TestRead_WhereNothingCanBeWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p?%23.db")
	db := open(t, path)
	if err := db.Tx(t.Context(), add(1)); err != nil {
		t.Fatal(err)
	}
	// By default, other users cannot enter the folder of the test.
	if err := errors.Join(db.Close(), os.Chmod(path, 0o444), os.Chmod(dir, 0o555), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	nothing := func(*sqlite.Conn) error { return nil }
	if err := asNobody(func() error { return projection.Read(t.Context(), path, schema, nothing) }); err != nil {
		t.Errorf("at rest: %v", err)
	}
	// With a log, the file alone is incomplete.
	if err := os.WriteFile(path+"-wal", []byte("log"), 0o444); err != nil {
		t.Skipf("root only: %v", err)
	}
	err := asNobody(func() error { return projection.Read(t.Context(), path, schema, nothing) })
	if err == nil || !strings.Contains(err.Error(), "copy the file") {
		t.Errorf("got %v, want an error that says to copy the files", err)
	}
}

func asNobody(do func() error) error {
	if os.Geteuid() != 0 {
		return do()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		_, _, _ = syscall.Syscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		done <- do()
	}()
	return <-done
}

func TestRead_NothingThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	for range 2 {
		err := projection.Read(t.Context(), path, schema, func(*sqlite.Conn) error { return nil })
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want %v", err, fs.ErrNotExist)
		}
	}
}

func TestMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var marks projection.Marks
		kept, now := map[[2]string]uint64{}, map[[2]string]uint64{}
		high := func(k [2]string) uint64 { return max(kept[k], now[k]) }
		t.Repeat(map[string]func(*rapid.T){
			"repeat": func(t *rapid.T) {
				k := [2]string{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tenant"), rapid.SampledFrom([]string{"p", "q"}).Draw(t, "producer")}
				n := rapid.Uint64Range(0, 9).Draw(t, "sequence")
				want := n > 0 && n <= high(k)
				if got := marks.Repeat(k[0], k[1], n); got != want {
					t.Fatalf("repeat %v %d: got %v, want %v", k, n, got, want)
				}
				now[k] = max(high(k), n)
			},
			"commit":   func(*rapid.T) { marks.Commit(); merge(kept, now) },
			"rollback": func(*rapid.T) { marks.Rollback(); clear(now) },
		})
	})
}

func merge(kept, now map[[2]string]uint64) {
	for k, n := range now {
		kept[k] = max(kept[k], n)
	}
	clear(now)
}
