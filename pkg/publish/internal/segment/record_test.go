package segment

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newRecord(n int) *Record {
	event := fmt.Appendf(nil, `{"specversion":"1.0","id":"event-%d","source":"/test","tenant":"acme","data":{"tool":"tool-%d"}}`, n, n)
	return &Record{
		Ordinal: uint64(n + 1), Sequence: uint64(n + 1), ID: HashID("acme", "/test", fmt.Sprint(n)),
		Tenant: "acme", Run: "run-1", Kind: "tool.before", Event: event,
	}
}

func TestRecord_RoundTrip(t *testing.T) {
	for _, want := range []*Record{
		newRecord(0),
		{Ordinal: 1 << 40, Sequence: 1 << 50, Event: []byte{}},
		{Ordinal: 1, Sequence: 1, Tenant: "ä ö", Run: string(make([]byte, 300)), Kind: "k", Event: []byte("{}")},
	} {
		buf := Append([]byte("before"), want)
		got, err := Scan(buf[len("before"):])
		if err != nil || got.Fault != Intact || got.Size != len(buf)-len("before") {
			t.Fatalf("got %+v, %v", got, err)
		}
		if diff := cmp.Diff(*want, got.Record); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	}
}

func TestScan_Empty(t *testing.T) {
	if _, err := Scan(nil); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

// FuzzScan changes or cuts a segment. The reader must return only records that were written, in
// their order, and report all damage.
func FuzzScan(f *testing.F) {
	const records = 6
	var segment []byte
	written := map[uint64]string{}
	for n := range records {
		r := newRecord(n)
		segment = Append(segment, r)
		written[r.Ordinal] = string(r.Event)
	}
	f.Add(uint16(0), byte(0), uint16(0), byte(0), uint16(0xffff))
	f.Add(uint16(5), byte(1), uint16(400), byte(0xff), uint16(1200))
	f.Add(uint16(HeaderBytes), byte(0x80), uint16(HeaderBytes+17), byte(7), uint16(0xffff))
	f.Fuzz(func(t *testing.T, at1 uint16, flip1 byte, at2 uint16, flip2 byte, cut uint16) {
		data := append([]byte(nil), segment...)
		data[int(at1)%len(data)] ^= flip1
		data[int(at2)%len(data)] ^= flip2
		data = data[:min(len(data), int(cut))]
		path := filepath.Join(t.TempDir(), "00000000000000000001.seg")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Open(filepath.Dir(path), Options{MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		r := l.Reader(1)
		defer r.Close()
		size, last, seen, faults := 0, uint64(0), 0, 0
		for {
			it, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if it.Size <= 0 {
				t.Fatal("no progress")
			}
			size += it.Size
			if it.Fault != Intact {
				faults++
				continue
			}
			seen++
			if it.Ordinal <= last || string(it.Event) != written[it.Ordinal] || it.Sequence != it.Ordinal || it.Tenant != "acme" {
				t.Fatalf("record %d after %d was never written", it.Ordinal, last)
			}
			last = it.Ordinal
		}
		whole := len(data) == len(segment) && string(data) == string(segment)
		if size != len(data) || whole && seen != records {
			t.Fatalf("%d of %d bytes and %d records read", size, len(data), seen)
		}
		if string(data) != string(segment[:len(data)]) && faults == 0 {
			t.Fatal("damage was not reported")
		}
	})
}
