package bucket

import (
	"testing"
)

// Every accepted lease can be encoded and parsed again.
func FuzzParseRecord(f *testing.F) {
	for _, r := range []record{{"a", "a"}, {"a", "b"}, {"", "b"}} {
		f.Add(r.encode())
	}
	f.Add([]byte(`{"holder":"a","writer":"b","more":1}`))
	f.Add([]byte(`{"holder":"\ud800","writer":"<"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(data)
		if err != nil {
			return
		}
		again, err := parseRecord(r.encode())
		if err != nil || again != r {
			t.Errorf("%q: got %+v, %v, want %+v", data, again, err, r)
		}
	})
}

// An answer is an error or the last revision of the whole batch.
func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte(`{"stream":"KV","seq":12,"batch":"x","count":3}`), 3)
	f.Add([]byte(`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 4"}}`), 3)
	f.Fuzz(func(t *testing.T, data []byte, count int) {
		if last, err := parseAnswer(data, count); err == nil && last < uint64(max(count, 0)) {
			t.Errorf("%q: %d writes end at %d", data, count, last)
		}
	})
}
