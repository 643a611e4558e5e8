package bundle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/testkit/nodetest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type duckDB struct{ nodetest.Installed }

func (d duckDB) query(tb testing.TB, sql string) (rows []map[string]any) {
	tb.Helper()
	if err := json.Unmarshal(d.Run(tb, filepath.Join("testdata", "duckdb.mjs"), sql), &rows); err != nil {
		tb.Fatal(err)
	}
	return rows
}

// DuckDB reads a table, its records have the right hashes, and the queries of docs/formats.md run.
//
//guarantee:parquet
func TestParquet_ReadByDuckDB(t *testing.T) {
	db := duckDB{nodetest.Install(t, filepath.Join("testdata", "package.json"))}
	f := mixed()
	f.publish("coder/e4", "r9", events.ToolBefore, "", events.ToolBeforeData{Tool: "Bash"})
	e := f.write(t)
	file := filepath.Join(t.TempDir(), "november.parquet")
	if err := os.WriteFile(file, []byte(e.table(t, Parquet, ledger.Selection{})), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := e.reader.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := db.query(t, `SELECT count(*)::INT n, count(DISTINCT leaf)::INT leaves, max(leaf)::INT AS last,
		sum((sha256(record) = sha256)::INT)::INT proved, count(finding)::INT apart,
		any_value(typeof(time)) AS time, any_value(typeof(leaf)) AS leaf FROM '`+file+`'`)
	size := float64(c.Size)
	want := []map[string]any{{
		"n": size, "leaves": size, "last": size - 1, "proved": size, "apart": 1.0,
		"time": "TIMESTAMP WITH TIME ZONE", "leaf": "BIGINT",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the database read (-want +got):\n%s", diff)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "formats.md"))
	if err != nil {
		t.Fatal(err)
	}
	var last []map[string]any
	asked := regexp.MustCompile(`duckdb -c "(.+)"`).FindAllStringSubmatch(string(page), -1)
	for _, sql := range asked {
		last = db.query(t, strings.ReplaceAll(sql[1], "november.parquet", file))
		if len(last) == 0 {
			t.Errorf("%s: no rows", sql[1])
		}
	}
	if len(asked) != 2 || len(last) != 1 || last[0]["run"] != "r9" {
		t.Errorf("docs/formats.md asks %d times; the last answer is %v", len(asked), last)
	}
}
