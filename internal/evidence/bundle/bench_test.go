package bundle

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func BenchmarkExport(b *testing.B) {
	const records = 20_000
	f := newFeed()
	for first := 0; first < records; first += 500 {
		f.run("coder/e4", fmt.Sprint("r", first), 500)
	}
	e := f.write(b)
	path := e.bundle(b, ledger.Selection{})
	for _, bb := range []struct {
		name string
		do   func() error
	}{
		{"LedgerVerify", func() error {
			_, err := verifier.Verify(b.Context(), e.path, verifier.Options{Key: e.key})
			return err
		}},
		{"BundleWrite", func() error { return WriteBundle(b.Context(), io.Discard, e.reader, Options{Key: e.public}) }},
		{"BundleSigned", func() error {
			return WriteBundle(b.Context(), io.Discard, e.reader, Options{Key: e.public, Signer: e.signer})
		}},
		{"BundleCheck", func() error { _, err := Check(b.Context(), path, CheckOptions{Key: e.key}); return err }},
		{"JSONL", func() error { return WriteTable(b.Context(), io.Discard, e.reader, JSONL, Options{}) }},
		{"CSV", func() error { return WriteTable(b.Context(), io.Discard, e.reader, CSV, Options{}) }},
		{"Parquet", func() error { return WriteTable(b.Context(), io.Discard, e.reader, Parquet, Options{}) }},
		{"BundleOfARun", func() error {
			s := ledger.Selection{Run: "r500"}
			return WriteBundle(b.Context(), io.Discard, e.reader, Options{Key: e.public, Selection: s})
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bb.do(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/records, "µs/event")
		})
	}
	if info, err := os.Stat(filepath.Clean(path)); err == nil {
		b.Logf("the bundle has %d bytes per event", info.Size()/records)
	}
}
