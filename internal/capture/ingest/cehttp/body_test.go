package cehttp_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/cehttp"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const batchType = "application/cloudevents-batch+json"

func TestRead_Body(t *testing.T) {
	t.Run("TooLarge", func(t *testing.T) {
		r := post(typed(ceType), strings.Repeat(" ", 11))
		r.Body = http.MaxBytesReader(nil, r.Body, 10)
		_, err := all(r)
		var refused *cehttp.Error
		if !errors.As(err, &refused) || refused.Status != 413 {
			t.Errorf("got %v, want status 413", err)
		}
	})
	t.Run("EmptyBatch", func(t *testing.T) {
		list, err := all(post(typed(batchType), " [ ] "))
		if err != nil || len(list) != 0 {
			t.Errorf("got %v and %v, want nothing", list, err)
		}
	})
	t.Run("Numbered", func(t *testing.T) {
		list, err := all(post(typed(ceType),
			`{"future":"x","specversion":"1.0","id":"1","source":"s","type":"t","producer":"p","sequence":"7","salt":"AAAA","data":{"a" : "<\/>"}}`))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"specversion":"1.0","id":"1","source":"s","type":"t","future":"x","data":{"a":"<\/>"}}`
		if got := string(list[0].Encode()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func numbered(i int) string {
	return `{"specversion":"1.0","id":"` + strconv.Itoa(i) + `","source":"s","type":"t","data":{"text":"]}\\\"[{"}}`
}

func TestRead_Positions(t *testing.T) {
	rows := numbered(1) + "\n\n" + numbered(2)
	length := int64(len(numbered(1)))
	for name, tt := range map[string]struct {
		media, body string
		want        []cehttp.Received
	}{
		"Batch":       {batchType, "\n[" + numbered(1) + "\n,\n" + numbered(2) + " ] ", []cehttp.Received{{Index: 0, Line: 2, Offset: 2}, {Index: 1, Line: 4, Offset: 5 + length}}},
		"Lines":       {"application/x-ndjson", rows, []cehttp.Received{{Index: 0, Line: 1}, {Index: 1, Line: 3, Offset: 2 + length}}},
		"CRLF":        {"application/jsonl", numbered(1) + " \r\n", []cehttp.Received{{Index: 0, Line: 1}}},
		"CloudEvents": {"application/cloudevents+jsonl; charset=utf-8", numbered(1), []cehttp.Received{{Index: 0, Line: 1}}},
		"NoLines":     {"application/x-ndjson", " \n", nil},
		"Structured":  {ceType, numbered(1), []cehttp.Received{{Index: -1, Line: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []cehttp.Received
			for r, err := range cehttp.Read(post(typed(tt.media), tt.body), 1<<20) {
				if err != nil {
					t.Fatal(err)
				}
				if want := strconv.Itoa(len(got) + 1); r.Event.ID != want {
					t.Errorf("got event %s, want %s", r.Event.ID, want)
				}
				r.Event = events.Event{}
				got = append(got, r)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Read yields the events before the first invalid one.
func TestRead_UpToTheFirstBadOne(t *testing.T) {
	var taken int
	for _, err := range cehttp.Read(post(typed(batchType), "["+numbered(1)+","+numbered(2)+",{},"+numbered(3)+"]"), 1<<20) {
		if err == nil {
			taken++
			continue
		}
		var refused *cehttp.Error
		if !errors.As(err, &refused) || refused.Index != 2 {
			t.Errorf("got %v, want it to be of event 2", err)
		}
	}
	if taken != 2 {
		t.Errorf("took %d events, want 2", taken)
	}
}

// An event that is too large ends a batch, and the error has its index.
func TestRead_LargeEvent(t *testing.T) {
	for media, body := range map[string]string{
		batchType: "[" + numbered(1) + "," + strings.Repeat("x", 200) + "]", "application/jsonl": numbered(1) + "\n" + strings.Repeat("x", 200), ceType: strings.Repeat(" ", 200),
	} {
		var last error
		for _, err := range cehttp.Read(post(typed(media), body), 150) {
			last = err
		}
		var refused *cehttp.Error
		if !errors.As(last, &refused) || refused.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: got %v, want 413", media, last)
		}
	}
}

// repeated generates a batch of n events without storing it in memory.
type repeated struct {
	n, i int
	rest string
}

func (r *repeated) Read(p []byte) (int, error) {
	for r.rest == "" {
		switch {
		case r.i > r.n:
			return 0, io.EOF
		case r.i == r.n:
			r.rest = "]"
		case r.i == 0:
			r.rest = "[" + numbered(0)
		default:
			r.rest = "," + numbered(r.i)
		}
		r.i++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// A batch of 100,000 events needs no more memory than a short one.
func TestRead_BoundedMemory(t *testing.T) {
	const count = 100_000
	r := post(typed(batchType), "")
	r.Body = io.NopCloser(&repeated{n: count})
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	got, most := 0, uint64(0)
	for _, err := range cehttp.Read(r, 1<<20) {
		if err != nil {
			t.Fatal(err)
		}
		if got++; got%10_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
	}
	if limit := before.HeapAlloc + 4<<20; got != count || most > limit {
		t.Errorf("got %d events and %d bytes of heap, want %d and at most %d", got, most, count, limit)
	}
}

// The scanner finds the values of every JSON array and refuses other bodies.
func FuzzRead_Batch(f *testing.F) {
	f.Add([]byte(`[{"specversion":"1.0","id":"1","source":"s","type":"t"}]`))
	f.Add([]byte("[ {\"specversion\":\"1.0\",\"id\":\"]\\\\\",\"source\":\"s\",\"type\":\"t\"}\n,{}]"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var values []json.RawMessage
		isArray := json.Unmarshal(body, &values) == nil && values != nil
		n := 0
		var last *cehttp.Error
		for _, err := range cehttp.Read(post(typed(batchType), string(body)), 1<<20) {
			if err == nil {
				n++
			} else if !errors.As(err, &last) {
				t.Fatalf("got %T", err)
			}
		}
		switch {
		case last == nil && (!isArray || n != len(values)):
			t.Fatalf("took %d events of %q", n, body)
		case last != nil && isArray && (last.Index != n || n >= len(values)):
			t.Fatalf("stopped at %d behind %d of %d: %v", last.Index, n, len(values), last)
		}
	})
}
