package events

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the goldens and the schemas")

// golden compares got with a file. With -update it rewrites the file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v; go test ./pkg/events -update writes it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs, go test ./pkg/events -update rewrites it (-want +got):\n%s", name, diff)
	}
}

// stale reports files in dir that belong to no kind.
func stale(t *testing.T, dir string, besides ...string) {
	t.Helper()
	known := map[string]bool{}
	for _, k := range Kinds() {
		known[string(k)+".json"] = true
	}
	for _, name := range besides {
		known[name] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !known[entry.Name()] && !entry.IsDir() {
			t.Errorf("%s is of no kind", filepath.Join(dir, entry.Name()))
		}
	}
}

// The bytes of events never change. The format may only add fields.
func TestGoldens(t *testing.T) {
	dir := filepath.Join("testdata", "kinds")
	for _, k := range Kinds() {
		t.Run(string(k), func(t *testing.T) {
			e := sample(t, k)
			if err := e.Validate(); err != nil {
				t.Fatal(err)
			}
			line := append(e.Encode(), '\n')
			golden(t, filepath.Join(dir, string(k)+".json"), line)

			got, err := Decode(line)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e, got); diff != "" {
				t.Errorf("decode (-want +got):\n%s", diff)
			}
			if got.Kind() != k {
				t.Errorf("kind: got %s, want %s", got.Kind(), k)
			}
			p, _ := PayloadOf(k)
			if err := json.Unmarshal(got.Data, p); err != nil {
				t.Fatal(err)
			}
			again := got
			if err := again.SetData(reflect.ValueOf(p).Elem().Interface()); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again.Data, got.Data) {
				t.Errorf("payload: got %s, want %s", again.Data, got.Data)
			}
		})
	}
	stale(t, dir)
}

func TestKinds(t *testing.T) {
	seen := map[Kind]bool{}
	for _, k := range Kinds() {
		if seen[k] || k != Kind(strings.ToLower(string(k))) || KindOf(k.Type()) != k {
			t.Errorf("%q is there twice, is no name, or does not come back from its type", k)
		}
		seen[k] = true
	}
	// 26 hook points of the vocabulary, and 10 records.
	if len(seen) != 36 {
		t.Errorf("got %d kinds, want 36", len(seen))
	}
	if _, ok := PayloadOf("tomorrow"); ok {
		t.Error("an unknown kind has a payload")
	}
	for typ, want := range map[string]Kind{"com.example": Custom, "hooktrail.": Custom, "": Custom, "hooktrail.tomorrow": "tomorrow", "hooktrailx": Custom} {
		if got := KindOf(typ); got != want {
			t.Errorf("KindOf(%q): got %q, want %q", typ, got, want)
		}
	}
}

func TestKinds_AreAllRegistered(t *testing.T) {
	src, err := os.ReadFile("kind.go")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(src)) {
		name, value, ok := strings.Cut(line, " Kind = ")
		if !ok {
			continue
		}
		count++
		if _, ok := PayloadOf(Kind(strings.Trim(value, "\"\n"))); !ok {
			t.Errorf("%s is not in the registry", strings.TrimSpace(name))
		}
	}
	if count != len(Kinds()) {
		t.Errorf("kind.go has %d kinds, the registry %d", count, len(Kinds()))
	}
}
