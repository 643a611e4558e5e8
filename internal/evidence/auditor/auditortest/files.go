package auditortest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

// LedgerFile returns the path of the ledger of a tenant.
func LedgerFile(tb testing.TB, dir, tenant string) string {
	tb.Helper()
	path, err := ledger.Path(filepath.Join(dir, "ledger"), tenant)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// ReadFile returns the content of a file.
func ReadFile(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// InBucket returns the checkpoint of a tenant in the broker's bucket.
func InBucket(tb testing.TB, b *broker.Broker, tenant string) []byte {
	tb.Helper()
	e, err := bucket.At(b.JetStream(), b.Space()).Newest(tb.Context(), tenant)
	if err != nil {
		tb.Fatal(err)
	}
	return e.Data
}

// Overwrite returns a function that replaces the content of a file.
func Overwrite(content string) func(tb testing.TB, path string) {
	return func(tb testing.TB, path string) { tb.Helper(); Put(tb, path, content) }
}

// AgentRows returns the rows of an AgentFS file as an AgentFS client reads them.
func AgentRows(tb testing.TB, path string) (rows []string) {
	tb.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		tb.Fatal(err)
	}
	for _, query := range []string{
		`SELECT json_array(id, name, parameters, result, error, status, started_at, completed_at, duration_ms) FROM tool_calls ORDER BY id`,
		`SELECT json_array(key, value) FROM kv_store ORDER BY key`,
	} {
		err = errors.Join(err, sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error { rows = append(rows, stmt.ColumnText(0)); return nil },
		}))
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		tb.Fatal(err)
	}
	return rows
}

// Contents returns the content of each file below dir, by path.
func Contents(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = string(ReadFile(tb, path))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// CopyKeys copies the keys of a data directory to another one.
func CopyKeys(tb testing.TB, dst, src string) {
	tb.Helper()
	if err := os.CopyFS(filepath.Join(dst, "keys"), os.DirFS(filepath.Join(src, "keys"))); err != nil {
		tb.Fatal(err)
	}
}

// Put writes a file.
func Put(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}
