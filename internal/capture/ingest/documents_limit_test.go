package ingest

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.text[(e.read+i)%len(e.text)]
	}
	e.read += len(p)
	return len(p), nil
}

// A value longer than the limit is refused. A document may be longer than the limit,
// because only single values are in memory.
func TestDocuments_Limit(t *testing.T) {
	const limit = 1 << 20
	var got []string
	in := &documents{ctx: t.Context(), opts: Options{File: "f"}, yield: func(p Fragment, err error) bool {
		if err != nil {
			got = append(got, err.Error())
		}
		return true
	}}
	in.read(io.MultiReader(strings.NewReader(`{"a":"`), &endless{text: "x"}), limit)
	if want := "f:1:6: a value longer than 1048576 bytes; what follows is not read"; len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %s", got, want)
	}

	element := `"` + strings.Repeat("x", limit/4) + `",`
	n := 0
	var most uint64
	in = &documents{ctx: t.Context(), yield: func(_ Fragment, err error) bool {
		if err != nil {
			t.Error(err)
			return false
		}
		if n++; n%8 == 0 {
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
		}
		return n < 32
	}}
	in.read(io.MultiReader(strings.NewReader("["), &endless{text: element}), limit)
	if n != 32 || most > 6*limit {
		t.Errorf("%d elements of %d KiB take %d KiB of memory", n, limit>>12, most>>10)
	}
}
