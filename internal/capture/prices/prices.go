// Package prices estimates the cost of model tokens from a dated table of list prices.
package prices

import (
	"bytes"
	_ "embed" // the built-in table
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Table contains the prices of models. A model name that ends with "*" applies to all names with
// this prefix.
type Table struct {
	Date   string           `json:"date"`   // on which the prices were valid, as YYYY-MM-DD
	Source string           `json:"source"` // who published them
	Models map[string]Price `json:"models"`
}

// Price is the price of a million tokens in US dollars.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read,omitempty"`  // 0 for the price of Input
	CacheWrite float64 `json:"cache_write,omitempty"` // 0 for the price of Input
}

//go:embed builtin.json
var builtin []byte

// Builtin returns the price table that is part of this program. The caller must not change it.
var Builtin = sync.OnceValues(func() (*Table, error) { return Parse(builtin) })

// FileName is the name of the price table in a data directory. This file replaces the built-in
// table.
const FileName = "prices.json"

// Load reads the price table at path. If path is empty, it reads the table in the data directory.
// If that is missing, it returns the built-in table.
func Load(path, dataDir string) (*Table, error) {
	optional := path == ""
	if optional {
		path = filepath.Join(dataDir, FileName)
	}
	data, err := os.ReadFile(path)
	switch {
	case optional && errors.Is(err, fs.ErrNotExist):
		return Builtin()
	case err != nil:
		return nil, fmt.Errorf("read prices: %w", err)
	}
	t, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read prices in %s: %w; `publisher prices` prints a valid table", path, err)
	}
	return t, nil
}

const maxPrice = 1e6 // of a million tokens

// Parse reads a table.
func Parse(data []byte) (*Table, error) {
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	t := &Table{}
	if err := in.Decode(t); err != nil {
		return nil, fmt.Errorf("invalid table: %w", err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("invalid table: text after its end")
	}
	if t.Date == "" || t.Source == "" || len(t.Models) == 0 {
		return nil, errors.New("invalid table: date, source or models are missing")
	}
	for name, p := range t.Models {
		if name == "" || strings.Contains(strings.TrimSuffix(name, "*"), "*") {
			return nil, fmt.Errorf("invalid model %q: it needs a name, with a * only at its end", name)
		}
		for _, v := range []float64{p.Input, p.Output, p.CacheRead, p.CacheWrite} {
			if v < 0 || v > maxPrice {
				return nil, fmt.Errorf("price of %q: %v is not between 0 and %v", name, v, maxPrice)
			}
		}
	}
	return t, nil
}

// Of returns the cost in US dollars of the tokens that a model used. ok is false for an unknown
// model.
func (t *Table) Of(model string, used events.Tokens) (usd float64, ok bool) {
	p, ok := t.price(model)
	if !ok {
		return 0, false
	}
	return used.Cost(p.Input, p.Output, p.CacheRead, p.CacheWrite), true
}

func (t *Table) price(model string) (best Price, ok bool) {
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	model, _, _ = strings.Cut(model, "[")
	if p, ok := t.Models[model]; ok {
		return p, true
	}
	length := -1
	for name, p := range t.Models {
		if start, isPattern := strings.CutSuffix(name, "*"); isPattern && len(start) > length && strings.HasPrefix(model, start) {
			best, length = p, len(start)
		}
	}
	return best, length >= 0
}
