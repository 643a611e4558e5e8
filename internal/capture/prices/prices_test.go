package prices_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/prices"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const table = `{"date":"2026-01-02","source":"a test","models":{"m":{"input":1,"output":2},"m-*":{"input":3,"output":4,"cache_read":0.5,"cache_write":5},"m-x*":{"input":7,"output":8}}}`

func TestTable_Of(t *testing.T) {
	prices, err := prices.Parse([]byte(table))
	if err != nil {
		t.Fatal(err)
	}
	million := events.Tokens{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheCreation: 1e6}
	for model, want := range map[string]float64{
		"m": 1 + 2 + 1 + 1, "M": 5, "anthropic/m": 5, "m[1m]": 5, "m-1": 3 + 4 + 0.5 + 5, "m-x9": 7 + 8 + 7 + 7, "other": -1, "": -1, "mm": -1,
	} {
		got, ok := prices.Of(model, million)
		if ok != (want >= 0) || ok && math.Abs(got-want) > 1e-9 {
			t.Errorf("%q: got %v, %t, want %v", model, got, ok, want)
		}
	}
}

func TestBuiltin(t *testing.T) {
	builtin, err := prices.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	got, ok := builtin.Of("claude-opus-4-5-20251101", events.Tokens{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheCreation: 1e6})
	if want := 5 + 25 + 0.5 + 6.25; !ok || got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, p := range builtin.Models {
		if p.Input <= 0 || p.Output < p.Input || p.CacheRead > p.Input {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	builtin, _ := prices.Builtin()
	if got, err := prices.Load("", dir); err != nil || got != builtin {
		t.Errorf("without a file: got %v, %v", got, err)
	}
	if _, err := prices.Load(filepath.Join(dir, "gone.json"), dir); err == nil {
		t.Error("a missing --prices was accepted")
	}
	own := filepath.Join(dir, prices.FileName)
	for text, want := range map[string]string{
		table: "", `{}`: "date, source or models are missing", `{"x":1}`: "unknown field", table + "{}": "text after its end",
		strings.Replace(table, "m-*", "*m", 1): "a * only at its end", strings.Replace(table, `"input":1`, `"input":-1`, 1): "is not between",
	} {
		if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := prices.Load("", dir)
		if want == "" && (err != nil || got.Date != "2026-01-02") || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), own)) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// An accepted table is the same after it was printed.
func FuzzParse(f *testing.F) {
	f.Add([]byte(table))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := prices.Parse(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		again, err := prices.Parse(text)
		if err != nil || !cmp.Equal(first, again) {
			t.Errorf("got %v, %v after %s", again, err, text)
		}
		first.Of("m", events.Tokens{Input: 1})
	})
}
