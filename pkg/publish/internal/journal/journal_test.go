package journal

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFile(t *testing.T) {
	f := At(filepath.Join(t.TempDir(), "producers"), "/data/outbox/http")
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, r := range []Record{
		{Time: now, Producer: "a", Key: "U1", State: Open},
		{Time: now, Producer: "a", State: Open, Last: map[string]uint64{"acme": 0}},
		{Time: now, Producer: "b", State: Open, From: "a"},
	} {
		if err := f.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("\n" + `{"producer":"cut off`); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	if err := f.Add(Record{Time: now, Producer: "c", State: Closed}); err != nil {
		t.Fatal(err)
	}
	list, err := f.Read()
	want := []Record{
		{Time: now, Producer: "a", Key: "U1", State: Open, Last: map[string]uint64{"acme": 0}},
		{Time: now, Producer: "b", State: Open, From: "a"},
		{Time: now, Producer: "c", State: Closed},
	}
	if diff := cmp.Diff(want, list); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for present, n := range map[string]int{"": 2, "a": 0, "b": 0, "c": 2} {
		if got := Missing(list, present); len(got) != n {
			t.Errorf("with %q: missing %+v, want %d", present, got, n)
		}
	}
	if err := f.Begin(Record{Time: now.Add(time.Hour), Producer: "b", State: Open}); err != nil {
		t.Fatal(err)
	}
	list, err = f.Read()
	want = []Record{{Time: now, Producer: "b", State: Open}}
	if diff := cmp.Diff(want, list); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if none, err := (File{}).Read(); none != nil || err != nil {
		t.Errorf("got %v, %v", none, err)
	}
}

// FuzzParse checks that records are read again, whatever comes before them.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"producer":"a","state":"open","last":{"acme":3}}`))
	f.Add([]byte("{\"producer\":\n\n[]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list := parse(data)
		for _, r := range list {
			if r.Producer == "" {
				t.Errorf("a record without a producer: %+v", r)
			}
		}
		line, err := encode(Record{Producer: "last", State: Moved})
		if err != nil {
			t.Fatal(err)
		}
		again := parse(append(append(data, '\n'), line...))
		if len(again) == 0 || !hasMoved(again) {
			t.Errorf("the last line was lost: %+v", again)
		}
	})
}

func hasMoved(list []Record) bool {
	for _, r := range list {
		if r.Producer == "last" && r.State == Moved {
			return true
		}
	}
	return false
}
