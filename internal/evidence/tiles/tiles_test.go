package tiles

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transparency-dev/tessera/api/layout"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// entryHashes hashes the entries of a tile as the specification says.
func entryHashes(bundle []byte) (hashes [][]byte, err error) {
	for len(bundle) > 0 {
		if len(bundle) < 2 || len(bundle)-2 < int(bundle[0])<<8|int(bundle[1]) {
			return nil, errors.New("an entry is cut short")
		}
		n := int(bundle[0])<<8 | int(bundle[1])
		h := tlog.RecordHash(bundle[2 : 2+n])
		hashes = append(hashes, h[:])
		bundle = bundle[2+n:]
	}
	return hashes, nil
}

func (l logs) check(tb testing.TB, log fsck.Fetcher) error {
	tb.Helper()
	// One worker per tile, because the checker hangs if a worker fails while others are idle.
	return fsck.New("hooktrail/acme", l.key, log, entryHashes, fsck.Opts{N: 64}).Check(deadline(tb))
}

//guarantee:tiles
func TestExport_ForTessera(t *testing.T) {
	l := write(t, "acme")
	to := l.export(t)
	if err := l.check(t, client.FileFetcher{Root: to}); err != nil {
		t.Errorf("Tessera's checker: %v", err)
	}
	// The checker finds a changed file.
	for _, path := range []string{layout.TilePath(0, 0, 0), layout.TilePath(0, 1, 0), layout.EntriesPath(1, 0)} {
		file := filepath.Join(to, path)
		data := readFile(t, file)
		put(t, file, string(data[:len(data)-1])+string(data[len(data)-1]^1))
		if err := l.check(t, client.FileFetcher{Root: to}); err == nil {
			t.Errorf("%s: a flipped bit was taken", path)
		}
		put(t, file, string(data))
	}
	r, err := ledger.OpenTenant(l.dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := Export(t.Context(), r, to, func(int, int) {}); err == nil {
		t.Error("it was written over what was there")
	}
}

func TestExport_TakesAwayWhatIsNotAll(t *testing.T) {
	l := write(t, "acme")
	r, err := ledger.OpenTenant(l.dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	missing, empty := filepath.Join(t.TempDir(), "log"), t.TempDir()
	for _, to := range []string{missing, empty} {
		ctx, cancel := context.WithCancel(t.Context())
		if err := Export(ctx, r, to, func(int, int) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", to, err)
		}
		if entries, err := os.ReadDir(to); len(entries) > 0 || errors.Is(err, os.ErrNotExist) != (to == missing) {
			t.Errorf("%s: left are %v, %v", to, entries, err)
		}
		if err := Export(t.Context(), r, to, func(int, int) {}); err != nil {
			t.Errorf("%s: the next one: %v", to, err)
		}
	}
}

//guarantee:tiles
func TestHandler_ForTessera(t *testing.T) {
	l := write(t, "acme")
	web := httptest.NewServer(Handler(l.dir, nil, slog.New(slog.DiscardHandler)))
	defer web.Close()
	root, err := url.Parse(web.URL + "/hooktrail/acme/")
	if err != nil {
		t.Fatal(err)
	}
	log, err := client.NewHTTPFetcher(root, web.Client())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.check(t, log); err != nil {
		t.Errorf("Tessera's checker: %v", err)
	}
	// The server and the export give the same bytes.
	to := l.export(t)
	err = filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(to, path)
		if err != nil {
			return err
		}
		if status, data := get(t, web, http.MethodGet, "/hooktrail/acme/"+name); status != 200 || !bytes.Equal(data, readFile(t, path)) {
			t.Errorf("%s: got status %d and %d other bytes", name, status, len(data))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func get(tb testing.TB, web *httptest.Server, method, path string) (int, []byte) {
	tb.Helper()
	req, err := http.NewRequestWithContext(deadline(tb), method, web.URL+path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	answer, err := web.Client().Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		tb.Fatal(err)
	}
	return answer.StatusCode, data
}

//guarantee:tiles
func TestHandler_ServesNothingElse(t *testing.T) {
	l := write(t, "acme")
	web := httptest.NewServer(Handler(l.dir, []string{"acme", "beta"}, slog.New(slog.DiscardHandler)))
	defer web.Close()
	for path, want := range map[string]int{
		"/hooktrail/acme/checkpoint":             200,
		"/hooktrail/other/checkpoint":            404,
		"/hooktrail/acme/ledger.db":              404,
		"/hooktrail/acme/tile/0/999":             404,
		"/hooktrail/acme/tile/5/000":             404,
		"/hooktrail/acme/tile/0/000.p/7":         200,
		"/hooktrail/acme/tile/entries/000.p/256": 404,
		"/hooktrail/%2e%2e/checkpoint":           404,
		"/hooktrail/acme%2F..%2Facme/checkpoint": 404,
		"/":                                      404,
	} {
		if status, _ := get(t, web, http.MethodGet, path); status != want {
			t.Errorf("%s: got status %d, want %d", path, status, want)
		}
	}
	if status, _ := get(t, web, http.MethodPost, "/hooktrail/acme/checkpoint"); status != http.StatusMethodNotAllowed {
		t.Errorf("POST: got status %d", status)
	}
	all, err := http.Get(web.URL + "/hooktrail/acme/tile/entries/000")
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(all.Body)
	if err = errors.Join(err, all.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), `"command"`) || !strings.Contains(string(data), "hooktrail/leaf/v1") {
		t.Error("the entries are not the leaves alone")
	}
}

//guarantee:tiles
func TestHandler_RefusesDamage(t *testing.T) {
	l := write(t, "acme")
	path, err := ledger.Path(l.dir, "acme")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteTransient(conn, "UPDATE leaves SET kind = 'custom' WHERE leaf = 7", nil)
	if err = errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(Handler(l.dir, nil, slog.New(slog.DiscardHandler)))
	defer web.Close()
	if status, _ := get(t, web, http.MethodGet, "/hooktrail/acme/tile/entries/000"); status != 500 {
		t.Errorf("got status %d, want 500", status)
	}
}
