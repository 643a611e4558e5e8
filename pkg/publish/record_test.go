package publish

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newRecord(n int) record {
	e := newEvent(n)
	e.Producer, e.Sequence, e.Salt = "test-00000000", uint64(n+1), "salt"
	return record{
		ordinal: uint64(n + 1), sequence: e.Sequence, id: hashEvent(&e),
		tenant: e.Tenant, run: e.Run, kind: string(e.Kind()), event: e.Encode(),
	}
}

func appendRecord(dst []byte, r record) []byte {
	buf, start := beginRecord(dst, &r)
	buf = append(buf, r.event...)
	endRecord(buf, start, &r)
	return buf
}

func TestRecord_RoundTrip(t *testing.T) {
	for _, want := range []record{
		newRecord(0),
		{ordinal: 1 << 40, sequence: 1 << 50},
		{ordinal: 1, sequence: 1, tenant: "ä ö", run: string(make([]byte, 300)), kind: "k", event: []byte("{}")},
	} {
		if want.event == nil {
			want.event = []byte{}
		}
		buf := appendRecord([]byte("before"), want)
		got, err := scan(buf[len("before"):])
		if err != nil || got.fault != intact || got.size != len(buf)-len("before") {
			t.Fatalf("got %+v, %v", got, err)
		}
		if diff := cmp.Diff(want, got.record, cmp.AllowUnexported(record{})); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	}
}

func TestScan_Empty(t *testing.T) {
	if _, err := scan(nil); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

// FuzzScan changes bytes of a segment, or cuts it off: what is read are records
// that were written, in their order, and everything else is reported.
func FuzzScan(f *testing.F) {
	const records = 6
	var segment []byte
	written := map[uint64]string{}
	for n := range records {
		r := newRecord(n)
		segment = appendRecord(segment, r)
		written[r.ordinal] = string(r.event)
	}
	f.Add(uint16(0), byte(0), uint16(0), byte(0), uint16(0xffff))
	f.Add(uint16(5), byte(1), uint16(400), byte(0xff), uint16(1200))
	f.Add(uint16(recordHeader), byte(0x80), uint16(recordHeader+17), byte(7), uint16(0xffff))
	f.Fuzz(func(t *testing.T, at1 uint16, flip1 byte, at2 uint16, flip2 byte, cut uint16) {
		data := append([]byte(nil), segment...)
		data[int(at1)%len(data)] ^= flip1
		data[int(at2)%len(data)] ^= flip2
		data = data[:min(len(data), int(cut))]
		path := filepath.Join(t.TempDir(), "00000000000000000001.seg")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openSpool(filepath.Dir(path), Options{SegmentBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		r := s.reader(1)
		defer r.close()
		size, last, seen, faults := 0, uint64(0), 0, 0
		for {
			it, err := r.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if it.size <= 0 {
				t.Fatal("no progress")
			}
			size += it.size
			if it.fault != intact {
				faults++
				continue
			}
			seen++
			if it.ordinal <= last || string(it.event) != written[it.ordinal] || it.sequence != it.ordinal || it.tenant != "acme" {
				t.Fatalf("record %d after %d is none that was written", it.ordinal, last)
			}
			last = it.ordinal
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

// FuzzParseChange reads lines of a cursor: only one that was written counts.
func FuzzParseChange(f *testing.F) {
	line, err := encodeChange(change{Next: 7, Chains: map[string]*chain{"acme": {Last: 6, Prev: "ab", Fence: 9}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add(line[:len(line)-1])
	f.Add([]byte("00000000 {}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ch, ok := parseChange(data)
		if !ok {
			return
		}
		again, err := encodeChange(ch)
		if err != nil {
			t.Fatal(err)
		}
		if ch2, ok := parseChange(again); !ok || !cmp.Equal(ch, ch2, cmp.AllowUnexported(chain{}, tally{})) {
			t.Errorf("%+v became %+v", ch, ch2)
		}
	})
}

// FuzzParseLoss reads slots: only one that was written counts.
func FuzzParseLoss(f *testing.F) {
	f.Add(make([]byte, lossSlot))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < lossSlot {
			return
		}
		if g := parseLoss(data[:lossSlot]); g.First > 0 && len(g.tenant) > lossSlot {
			t.Errorf("tenant of %d bytes", len(g.tenant))
		}
	})
}
