package auditor

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

	"github.com/hooktrail/hooktrail/internal/ledger"
)

// entryHashes hashes the entries of a tile, as its specification says.
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

// checkTiles has Tessera's own checker look at a log.
func checkTiles(tb testing.TB, dir string, log fsck.Fetcher) error {
	tb.Helper()
	key, _, err := ledger.ReadVerifier(KeyDir(dir))
	if err != nil {
		tb.Fatal(err)
	}
	// With as many workers as there are tiles: it waits for ever when one has
	// given up and the others do not take what is left.
	return fsck.New("hooktrail/acme", key, log, entryHashes, fsck.Opts{N: 64}).Check(deadline(tb))
}

// bigLedger makes a ledger whose tree has full tiles and partial ones.
func bigLedger(tb testing.TB) (dir string) {
	tb.Helper()
	b := connect(tb, server(tb))
	dir = tb.TempDir()
	p := outbox(tb, b, "coder", "acme")
	publishRun(tb, p, "r1", 300)
	drain(tb, b, dir)
	return dir
}

func exportTiles(tb testing.TB, dir string) (to string) {
	tb.Helper()
	to = filepath.Join(tb.TempDir(), "log")
	r, err := ledger.OpenTenant(LedgerDir(dir), "acme")
	if err != nil {
		tb.Fatal(err)
	}
	done, all := 0, 1
	err = ExportTiles(tb.Context(), r, to, func(d, a int) { done, all = d, a })
	if err = errors.Join(err, r.Close()); err != nil {
		tb.Fatal(err)
	}
	if done != all {
		tb.Errorf("progress ended at %d of %d", done, all)
	}
	return to
}

func TestTiles_ExportedForTessera(t *testing.T) {
	dir := bigLedger(t)
	to := exportTiles(t, dir)
	if err := checkTiles(t, dir, client.FileFetcher{Root: to}); err != nil {
		t.Errorf("Tessera's checker: %v", err)
	}
	// It does find what is wrong.
	for _, path := range []string{layout.TilePath(0, 0, 0), layout.TilePath(0, 1, 0), layout.EntriesPath(1, 0)} {
		file := filepath.Join(to, path)
		data := readFile(t, file)
		put(t, file, string(data[:len(data)-1])+string(data[len(data)-1]^1))
		if err := checkTiles(t, dir, client.FileFetcher{Root: to}); err == nil {
			t.Errorf("%s: a flipped bit was taken", path)
		}
		put(t, file, string(data))
	}
	r, err := ledger.OpenTenant(LedgerDir(dir), "acme")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := ExportTiles(t.Context(), r, to, func(int, int) {}); err == nil {
		t.Error("it was written over what was there")
	}
}

func TestCommand_ExportTiles(t *testing.T) {
	dir := bigLedger(t)
	to := filepath.Join(t.TempDir(), "log")
	export := []string{"export", "--data-dir", dir, "--tenant", "acme", "--format", "tiles"}
	for _, tt := range []struct {
		name string
		args []string
		want int
	}{
		{"NoFolder", nil, 2},
		{"OneRun", []string{"--out", to, "--run", "r1"}, 2},
		{"Good", []string{"--out", to}, 0},
		{"ThereAlready", []string{"--out", to}, 1},
	} {
		if status, text := command(t, append(export, tt.args...)...); status != tt.want {
			t.Errorf("%s: got status %d, want %d:\n%s", tt.name, status, tt.want, text)
		}
	}
	if err := checkTiles(t, dir, client.FileFetcher{Root: to}); err != nil {
		t.Errorf("Tessera's checker: %v", err)
	}
}

func TestTiles_ServedForTessera(t *testing.T) {
	dir := bigLedger(t)
	web := httptest.NewServer(TilesHandler(dir, "", Options{}.withDefaults().Logger))
	defer web.Close()
	root, err := url.Parse(web.URL + "/hooktrail/acme/")
	if err != nil {
		t.Fatal(err)
	}
	log, err := client.NewHTTPFetcher(root, web.Client())
	if err != nil {
		t.Fatal(err)
	}
	if err := checkTiles(t, dir, log); err != nil {
		t.Errorf("Tessera's checker: %v", err)
	}
	// What is served is what is exported.
	to := exportTiles(t, dir)
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

func TestTiles_ServesNothingElse(t *testing.T) {
	dir := bigLedger(t)
	web := httptest.NewServer(TilesHandler(dir, "acme", Options{}.withDefaults().Logger))
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

// A ledger that was changed is not served as if it had not been.
func TestTiles_RefuseDamage(t *testing.T) {
	dir := bigLedger(t)
	edit("UPDATE leaves SET kind = 'custom' WHERE leaf = 7")(t, ledgerFile(t, dir, "acme"))
	web := httptest.NewServer(TilesHandler(dir, "", Options{}.withDefaults().Logger))
	defer web.Close()
	if status, _ := get(t, web, http.MethodGet, "/hooktrail/acme/tile/entries/000"); status != 500 {
		t.Errorf("got status %d, want 500", status)
	}
}

// urlLogger sends the first URL that is logged.
type urlLogger chan<- string

func (urlLogger) Enabled(context.Context, slog.Level) bool { return true }
func (l urlLogger) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l urlLogger) WithGroup(string) slog.Handler          { return l }

func (l urlLogger) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "url" {
			select {
			case l <- a.Value.String():
			default: // another one
			}
		}
		return true
	})
	return nil
}

// serve --tiles-listen answers while the auditor runs, and frees its address.
func TestRun_ServesTiles(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	publishRun(t, outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	ctx, cancel := context.WithCancel(deadline(t))
	url := make(chan string, 1)
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{Broker: b, DataDir: dir, TilesListen: "127.0.0.1:0", Logger: slog.New(urlLogger(url))})
	}()
	at := <-url
	answer, err := http.Get(strings.Replace(at, "TENANT", "acme", 1) + "/checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("got status %d, %v", answer.StatusCode, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if answer, err := http.Get(at); err == nil {
		t.Error("it is still served")
		_ = answer.Body.Close() // it is an error already
	}
}
