package cursor

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParseChange checks that only complete lines count.
func FuzzParseChange(f *testing.F) {
	line, err := encodeChange(change{Next: 7, Chains: map[string]*Chain{"acme": {Last: 6, Prev: "ab", Fence: 9}}})
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
		if ch2, ok := parseChange(again); !ok || !cmp.Equal(ch, ch2) {
			t.Errorf("%+v became %+v", ch, ch2)
		}
	})
}

func TestIdleRuns(t *testing.T) {
	s := openIdle(t.TempDir())
	key := RunKey{"acme", "run \"1\""}
	if got, err := s.get(key); got != nil || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	for count := range uint64(3) {
		if err := s.put(map[RunKey]*Tally{key: {Count: count + 1, Finished: true}, {"globex", key.Run}: {Count: 99}}); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(s.file(key), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`0badc0de {"runs":{"acme`); err != nil { // a crash
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := s.get(key)
		if err != nil || got == nil || got.Count != count+1 || !got.Finished {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
